//! The attribute on every shape of function that users bring. What is asserted holds whatever the engine does: the
//! values are right, the futures are `Send` when their bodies are, and it compiles.

#![deny(warnings)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Display};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use singleflight_core::{
    FlightError, Key, OnTimeout, Policy, SingleFlight, Value, invalidates, key, single_flight,
};

#[derive(Clone, Debug, PartialEq)]
struct LoadError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id(u64);

impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

mod free_functions {
    use super::*;

    #[single_flight(key = "double:<id>", ttl = 30, lock_ttl_ms = 1500)]
    async fn double(id: u64) -> Result<u64, LoadError> {
        Ok(id * 2)
    }

    #[single_flight(key = "nothing", ttl = 30)]
    async fn nothing() {}

    #[single_flight(key = "unit:<id>", ttl = 30)]
    async fn unit(id: u8) -> () {
        let _ = id;
    }

    #[single_flight(key = "fails:<id>", ttl = 30)]
    async fn fails(id: u8) -> Result<u8, LoadError> {
        if id == 0 {
            return Err(LoadError);
        }
        let id = std::convert::identity::<Result<u8, LoadError>>(Err(LoadError))?;
        Ok(id)
    }

    #[single_flight(key = "early:<id>", ttl = 30)]
    async fn early(id: u8) -> Option<u8> {
        let half = |n: u8| n.is_multiple_of(2).then_some(n / 2);
        let more = async { half(id)?.checked_add(1) };
        if id > 100 {
            return None;
        }
        more.await
    }

    #[tokio::test]
    async fn return_what_their_bodies_do() {
        assert_eq!(is_send(double(4)).await, Ok(8));
        is_send(nothing()).await;
        unit(1).await;
        assert_eq!(fails(0).await, Err(LoadError));
        assert_eq!(fails(1).await, Err(LoadError));
        assert_eq!(early(101).await, None);
        assert_eq!(early(4).await, Some(3));
    }
}

mod arguments {
    use super::*;

    #[single_flight(key = "a:<name>:<part>:<bytes>:<text>", ttl = 30)]
    async fn borrowed(name: &str, part: Option<&str>, bytes: &[u8], text: Cow<'_, str>) -> String {
        format!("{name} {part:?} {bytes:?} {text}")
    }

    #[single_flight(key = "b:<a>:<b>", ttl = 30)]
    async fn named<'a, 'b>(a: &'a str, b: &'b String) -> usize
    where
        'a: 'b,
    {
        a.len() + b.len()
    }

    #[single_flight(key = "c:<n>:<id>", ttl = 30)]
    async fn patterns(mut n: u64, Id(id): Id, _: &HashMap<u8, u8>, _ctx: String) -> u64 {
        n += id;
        n
    }

    #[single_flight(key = "d:<name.as_ref()>:<what>", ttl = 30)]
    async fn anonymous(name: impl AsRef<str> + Send, what: impl Display + Send) -> String {
        format!("{} {what}", name.as_ref())
    }

    #[single_flight(key = "e:<r#type>:<match>", ttl = 30)]
    async fn raw(r#type: u8, r#match: u8) -> u8 {
        r#type + r#match
    }

    #[single_flight(key = "f:<id>", ttl = 30, skip(conn, unused))]
    async fn mutable(conn: &mut Vec<u64>, id: u64, unused: fn(&str) -> u8) -> u64 {
        conn.push(id);
        let _ = unused;
        id
    }

    #[single_flight(key = "g:<pair.0>:<pair.1.0>:<state:?>", ttl = 30)]
    async fn parts(pair: (u8, Id), state: Option<Id>) -> u64 {
        u64::from(pair.0) + pair.1.0 + state.map_or(0, |id| id.0)
    }

    #[single_flight(key = "h:<text>", ttl = 30)]
    async fn moved(text: String) -> String {
        let mut again = text;
        again.push('!');
        again
    }

    #[tokio::test]
    async fn reach_the_body() {
        let borrowed = is_send(borrowed("a", None, b"b", Cow::Borrowed("c"))).await;
        assert_eq!(borrowed, "a None [98] c");
        assert_eq!(is_send(named("ab", &"c".to_owned())).await, 3);
        assert_eq!(is_send(patterns(1, Id(2), &HashMap::new(), String::new())).await, 3);
        assert_eq!(is_send(anonymous("a".to_owned(), Id(1))).await, "a 1");
        assert_eq!(raw(1, 2).await, 3);
        assert_eq!(is_send(mutable(&mut Vec::new(), 7, |_| 0)).await, 7);
        assert_eq!(parts((1, Id(2)), Some(Id(3))).await, 6);
        assert_eq!(moved("x".into()).await, "x!");
    }

    #[tokio::test]
    async fn may_be_borrowed_in_a_spawned_task() {
        let task = tokio::spawn(async {
            let text = String::from("a");
            borrowed(&text, Some("b"), &[], Cow::Owned(text.clone())).await
        });
        assert_eq!(task.await.unwrap(), "a Some(\"b\") [] a");
    }
}

mod receivers {
    use super::*;

    #[derive(Clone)]
    struct Repo {
        tenant: String,
        flights: SingleFlight,
    }

    impl Repo {
        const TTL: u64 = 30;
        const LEASE: Duration = Duration::from_millis(200);

        fn helper(&self) -> &str {
            &self.tenant
        }

        #[single_flight(key = "name:<self.tenant>:<id>", ttl = Self::TTL, lock_ttl_ms = Self::LEASE)]
        async fn by_ref(&self, id: &str) -> Option<String> {
            let full = move || format!("{}/{id}", self.helper());
            Some(full())
        }

        #[single_flight(key = "value:<self.tenant>:<id>", ttl = 30)]
        async fn by_value(self, id: u8) -> String {
            self.tenant + &id.to_string()
        }

        #[single_flight(key = "mut:<self.tenant>", ttl = 30)]
        async fn by_mut_value(mut self) -> String {
            self.tenant.push('!');
            self.tenant
        }

        #[single_flight(key = "arc:<self.tenant>:<id>", ttl = 30)]
        async fn by_arc(self: Arc<Self>, id: u8) -> String {
            format!("{}{id}", self.tenant)
        }

        #[single_flight(key = "box:<self.tenant>", ttl = 30)]
        async fn by_box(self: Box<Self>) -> String {
            self.tenant
        }

        #[single_flight(key = "pin:<self.tenant>", ttl = 30)]
        async fn by_pin(self: Pin<&Self>) -> String {
            self.tenant.clone()
        }

        #[single_flight(key = "own:<self.tenant>", ttl = 30, flights = &self.flights)]
        async fn own_engine(&self) -> String {
            self.tenant.clone()
        }

        #[single_flight(key = "own_arc:<self.tenant>", ttl = 30, flights = &self.flights.clone())]
        async fn own_engine_moved(self: Arc<Self>) -> String {
            Arc::unwrap_or_clone(self).tenant
        }

        #[single_flight(key = "associated:<id>", ttl = 30)]
        async fn associated(id: u8) -> u8 {
            id
        }
    }

    #[tokio::test]
    async fn of_every_kind_work() {
        let repo = Repo { tenant: "a".into(), flights: SingleFlight::in_memory() };
        assert_eq!(is_send(repo.by_ref("x")).await.as_deref(), Some("a/x"));
        assert_eq!(is_send(repo.clone().by_value(1)).await, "a1");
        assert_eq!(repo.clone().by_mut_value().await, "a!");
        assert_eq!(is_send(Arc::new(repo.clone()).by_arc(1)).await, "a1");
        assert_eq!(Box::new(repo.clone()).by_box().await, "a");
        assert_eq!(Pin::new(&repo).by_pin().await, "a");
        assert_eq!(is_send(repo.own_engine()).await, "a");
        assert_eq!(Arc::new(repo).own_engine_moved().await, "a");
        assert_eq!(Repo::associated(3).await, 3);
    }
}

mod generics {
    use super::*;

    trait Db {
        type Row: Value;
        type Error: Clone + Send + Sync + 'static;
        const TTL: Duration;
        fn get(&self, id: u64) -> Result<Self::Row, Self::Error>;
    }

    struct Users;

    impl Db for Users {
        type Row = String;
        type Error = LoadError;
        const TTL: Duration = Duration::from_secs(5);
        fn get(&self, id: u64) -> Result<String, LoadError> {
            if id == 0 { Err(LoadError) } else { Ok(format!("user {id}")) }
        }
    }

    struct Repo<'a, D, const SHARD: usize> {
        db: &'a D,
    }

    impl<'a, D, const SHARD: usize> Repo<'a, D, SHARD>
    where
        D: Db + Sync,
    {
        #[single_flight(key = "row:<Self>:<id>", ttl = D::TTL)]
        async fn row(&self, id: u64) -> Result<D::Row, D::Error> {
            self.db.get(id)
        }

        #[single_flight(key = "rows:<K>:<N>:<id>", ttl = 30)]
        async fn rows<K, const N: usize>(&self, id: K) -> Result<[u8; 4], D::Error>
        where
            K: Into<u64> + Display + Send,
        {
            let id: u64 = id.into();
            self.db.get(id).map(|_| [N as u8, SHARD as u8, id as u8, 0])
        }
    }

    struct Long<Db>(Db);

    impl<Db: self::Db + Sync> Long<Db> {
        #[single_flight(key = "long:<id>", ttl = Db::TTL, soft_ttl = <Db as self::Db>::TTL)]
        async fn row(&self, id: u64) -> Result<Db::Row, Db::Error> {
            self.0.get(id)
        }
    }

    #[single_flight(key = "load:<T>:<id>", ttl = 30)]
    async fn load<T>(id: u64) -> Option<T>
    where
        T: Value + From<u8>,
    {
        u8::try_from(id).ok().map(T::from)
    }

    #[single_flight(key = "marker:<id>", ttl = 30, skip(T))]
    async fn marker<T>(id: u64) -> u64 {
        id + (std::mem::align_of::<T>() as u64).min(1)
    }

    #[tokio::test]
    async fn keep_their_types_apart() {
        let repo = Repo::<_, 7> { db: &Users };
        assert_eq!(is_send(repo.row(1)).await, Ok("user 1".into()));
        assert_eq!(repo.row(0).await, Err(LoadError));
        assert_eq!(is_send(Long(Users).row(1)).await, Ok("user 1".into()));
        assert_eq!(is_send(repo.rows::<u8, 3>(9)).await, Ok([3, 7, 9, 0]));
        assert_eq!(repo.rows::<u32, 4>(9).await, Ok([4, 7, 9, 0]));
        assert_eq!(load::<u8>(1).await, Some(1));
        assert_eq!(load::<u64>(1).await, Some(1));
        assert_eq!(marker::<String>(1).await, 2);
    }
}

mod traits {
    use super::*;

    trait Find {
        fn base(&self) -> u64;

        async fn find(&self, id: u64) -> Option<u64>;

        #[single_flight(key = "twice:<Self>:<id>", ttl = 30)]
        async fn twice(&self, id: u64) -> u64 {
            self.base() + id * 2
        }
    }

    struct A;
    struct B;

    impl Find for A {
        fn base(&self) -> u64 {
            100
        }

        #[single_flight(key = "find:<id>", ttl = 30)]
        async fn find(&self, id: u64) -> Option<u64> {
            Some(self.base() + id)
        }
    }

    impl Find for B {
        fn base(&self) -> u64 {
            200
        }

        #[single_flight(key = "find:<id>", ttl = 30)]
        async fn find(&self, id: u64) -> Option<u64> {
            Some(self.base() + id)
        }
    }

    #[tokio::test]
    async fn native_ones_work() {
        assert_eq!(A.find(1).await, Some(101));
        assert_eq!(B.find(1).await, Some(201));
        assert_eq!(A.twice(1).await, 102);
        assert_eq!(B.twice(1).await, 202);
    }

    #[async_trait::async_trait]
    trait Boxed: Send + Sync {
        async fn find(&self, name: &str, mut id: u64, extra: Option<u64>) -> Result<u64, LoadError>;
        async fn plain(&self) -> u8;
        async fn ignoring(&self, id: u64, other: (u8, u8), borrowed: &(u8, u8)) -> u8;

        #[single_flight(key = "boxed:default:<id>", ttl = 30)]
        async fn default_one(&self, id: u64) -> u64 {
            id + u64::from(self.plain().await)
        }
    }

    struct Repo {
        tenant: u64,
    }

    #[async_trait::async_trait]
    impl Boxed for Repo {
        #[single_flight(key = "boxed:<self.tenant>:<name>:<id>:<extra>", ttl = 30, losers = "default", default = self.tenant)]
        async fn find(&self, name: &str, mut id: u64, extra: Option<u64>) -> Result<u64, LoadError> {
            id += name.len() as u64;
            if id == 1 {
                return Err(LoadError);
            }
            let doubled = std::convert::identity::<Result<u64, LoadError>>(Ok(id * 2))?;
            Ok(doubled + self.tenant + extra.unwrap_or_default())
        }

        #[single_flight(key = "boxed:ignoring:<id>:<a>:<b>", ttl = 30)]
        async fn ignoring(&self, id: u64, _: (u8, u8), &(a, b): &(u8, u8)) -> u8 {
            let _ = id;
            a + b
        }

        #[single_flight(key = "boxed:plain", ttl = 30)]
        async fn plain(&self) -> u8 {
            5
        }
    }

    #[async_trait::async_trait(?Send)]
    trait Local {
        async fn find(&self, id: u64) -> u64;
    }

    #[async_trait::async_trait(?Send)]
    impl Local for Repo {
        #[single_flight(key = "local:<id>", ttl = 30)]
        async fn find(&self, id: u64) -> u64 {
            let held = Rc::new(id);
            tokio::task::yield_now().await;
            *held + self.tenant
        }
    }

    #[tokio::test]
    async fn boxed_ones_work() {
        let repo: Arc<dyn Boxed> = Arc::new(Repo { tenant: 1000 });
        assert_eq!(is_send(repo.find("ab", 2, Some(1))).await, Ok(1009));
        assert_eq!(repo.find("", 1, None).await, Err(LoadError));
        assert_eq!(repo.plain().await, 5);
        assert_eq!(repo.ignoring(1, (1, 2), &(3, 4)).await, 7);
        assert_eq!(repo.default_one(1).await, 6);
        assert_eq!(Local::find(&Repo { tenant: 1 }, 1).await, 2);
    }

    /// What `#[async_trait]` writes, written by hand.
    #[single_flight(key = "by_hand:<id>", ttl = 30)]
    fn by_hand<'a>(id: &'a str) -> Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>> {
        Box::pin(async move { Some(id.to_owned()) })
    }

    #[tokio::test]
    async fn a_boxed_future_by_hand() {
        assert_eq!(is_send(by_hand("x")).await.as_deref(), Some("x"));
    }
}

mod beside_other_attributes {
    use super::*;

    #[tracing::instrument]
    #[single_flight(key = "traced:above:<id>", ttl = 30)]
    async fn above(id: u8) -> Option<u8> {
        Some(id)
    }

    #[single_flight(key = "traced:below:<id>", ttl = 30)]
    #[tracing::instrument(level = "debug", skip(id))]
    async fn below(id: u8) -> Result<u8, LoadError> {
        if id == 0 {
            return Err(LoadError);
        }
        Ok(id)
    }

    #[async_trait::async_trait]
    trait Traced {
        async fn above(&self, id: u8) -> Option<u8>;
        async fn below(&self, id: u8) -> Option<u8>;
    }

    #[async_trait::async_trait]
    impl Traced for () {
        #[tracing::instrument(skip(self))]
        #[single_flight(key = "traced:boxed:above:<id>", ttl = 30)]
        async fn above(&self, id: u8) -> Option<u8> {
            Some(id)
        }

        #[single_flight(key = "traced:boxed:below:<id>", ttl = 30)]
        #[tracing::instrument(skip(self))]
        async fn below(&self, id: u8) -> Option<u8> {
            Some(id)
        }
    }

    /// Documented.
    #[single_flight(key = "attributes:<id>", ttl = 30)]
    #[must_use]
    #[cfg(not(any()))]
    #[expect(clippy::mixed_attributes_style, reason = "attributes are what is tested")]
    async fn many(id: u8) -> u8 {
        #![expect(unused_variables, reason = "an inner attribute")]
        let unused = 1;
        return id;
    }

    #[single_flight(key = "gone", ttl = 30)]
    #[cfg(any())]
    async fn gone() -> NoSuchType {}

    #[tokio::test]
    async fn it_works() {
        assert_eq!(is_send(above(1)).await, Some(1));
        assert_eq!(is_send(below(1)).await, Ok(1));
        assert_eq!(Traced::above(&(), 1).await, Some(1));
        assert_eq!(Traced::below(&(), 1).await, Some(1));
        assert_eq!(many(1).await, 1);
    }
}

mod options {
    use super::*;

    const HOT: Policy = Policy::new().ttl(Duration::from_secs(30)).soft_ttl(Duration::from_secs(10));
    const DEFAULTING: Policy = Policy::new().ttl(Duration::from_secs(30)).on_timeout(OnTimeout::Default);
    const RETRYING: Policy = Policy::new().ttl(Duration::from_secs(30)).retry_errors(true);
    const FAILING: Policy = Policy::new().ttl(Duration::from_secs(30)).on_timeout(OnTimeout::Fail);
    const SECONDS: u32 = 30;

    /// Neither `Clone` nor built from a `FlightError`, as `sqlx::Error`.
    #[derive(Debug, PartialEq)]
    struct Sqlx(u8);

    #[derive(Debug, thiserror::Error)]
    enum WithVariant {
        #[error("not found")]
        NotFound,
        #[error(transparent)]
        Flight(#[from] FlightError),
    }

    fn copy(error: &Sqlx) -> Sqlx {
        Sqlx(error.0)
    }

    fn positive(value: &u8) -> bool {
        *value > 0
    }

    #[derive(Clone)]
    struct NoSerde(u8);

    #[single_flight(key = "policy:<id>", policy = HOT)]
    async fn policy(id: u8) -> u8 {
        id
    }

    #[single_flight(
        key = "all:<id>",
        policy = self::HOT,
        ttl = SECONDS,
        soft_ttl = "20s",
        lock_ttl_ms = 800,
        losers = "wait",
        version = 3,
        errors = "share",
        share_error = copy,
        cache_if = positive,
        name = "options.all",
        crate = ::singleflight_core,
        skip(ctx),
    )]
    async fn all(ctx: &str, id: u8) -> Result<u8, Sqlx> {
        if ctx.is_empty() { Err(Sqlx(1)) } else { Ok(id) }
    }

    #[single_flight(key = "default:<text>", ttl = 30, losers = "default", default = text)]
    async fn default(text: String) -> Result<String, LoadError> {
        Ok(text + "!")
    }

    #[single_flight(key = "default_option:<id>", policy = DEFAULTING, default = None)]
    async fn default_option(id: u8) -> Option<u8> {
        Some(id)
    }

    #[single_flight(key = "retry:<id>", ttl = 30, errors = "retry")]
    async fn retry(id: u8) -> Result<u8, Sqlx> {
        Err(Sqlx(id))
    }

    #[single_flight(key = "retry_by_policy:<id>", policy = RETRYING)]
    async fn retry_by_policy(id: u8) -> Result<u8, Sqlx> {
        Err(Sqlx(id))
    }

    #[single_flight(key = "fail:<id>", ttl = 30, losers = "fail")]
    async fn fail(id: u8) -> Result<u8, WithVariant> {
        if id == 0 { Err(WithVariant::NotFound) } else { Ok(id) }
    }

    #[single_flight(key = "fail_by_policy:<id>", policy = FAILING)]
    async fn fail_by_policy(id: u8) -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
        Ok(id)
    }

    #[single_flight(key = "local:<id>", ttl = 30, local)]
    async fn local(id: u8) -> Option<NoSerde> {
        Some(NoSerde(id))
    }

    type Api<T> = Result<T, LoadError>;
    type Maybe = Option<u8>;

    #[single_flight(key = "alias:<id>", ttl = 30, negative_ttl = "500ms")]
    async fn alias(id: u8) -> Api<Maybe> {
        Ok(Some(id))
    }

    #[single_flight(key = "anyhow:<id>", ttl = 30)]
    async fn any(id: u8) -> anyhow::Result<u8> {
        anyhow::ensure!(id > 0, "zero");
        Ok(id)
    }

    #[single_flight(key = "io:<id>", ttl = 30)]
    async fn io(id: u8) -> std::io::Result<Vec<u8>> {
        Ok(vec![id])
    }

    #[single_flight(key = "boxed:<id>", ttl = 30)]
    async fn boxed(id: u8) -> Result<u8, Box<dyn std::error::Error>> {
        Ok(id)
    }

    #[single_flight(key = "never:<id>", ttl = 30)]
    async fn never(id: u8) -> Result<u8, std::convert::Infallible> {
        Ok(id)
    }

    #[single_flight(key = "arc:<id>", ttl = 30)]
    async fn arc_error(id: u8) -> Result<Box<str>, Arc<Sqlx>> {
        Err(Arc::new(Sqlx(id)))
    }

    #[tokio::test]
    async fn of_every_kind_compile_and_answer() {
        assert_eq!(policy(1).await, 1);
        assert_eq!(all("c", 1).await, Ok(1));
        assert_eq!(all("", 2).await, Err(Sqlx(1)));
        assert_eq!(default("a".into()).await, Ok("a!".into()));
        assert_eq!(default_option(1).await, Some(1));
        assert_eq!(retry(1).await, Err(Sqlx(1)));
        assert_eq!(retry_by_policy(1).await, Err(Sqlx(1)));
        assert!(matches!(fail(0).await, Err(WithVariant::NotFound)));
        assert_eq!(is_send(fail_by_policy(1)).await.unwrap(), 1);
        assert_eq!(local(1).await.map(|value| value.0), Some(1));
        assert_eq!(alias(1).await, Ok(Some(1)));
        assert_eq!(is_send(any(0)).await.unwrap_err().to_string(), "zero");
        assert_eq!(io(1).await.unwrap(), [1]);
        assert_eq!(is_send(never(1)).await, Ok(1));
        assert!(arc_error(1).await.is_err());
    }

    /// Its error is not `Send`, but never lives across a point where the future waits.
    #[tokio::test]
    async fn the_future_is_send_if_the_body_is() {
        assert_eq!(is_send(boxed(1)).await.unwrap(), 1);
    }

    #[test]
    fn a_variant_for_flight_errors_is_enough() {
        fn from<E: From<FlightError>>() {}
        from::<WithVariant>();
        assert!(!std::any::type_name_of_val(&WithVariant::Flight).is_empty());
    }
}

mod invalidating {
    use super::*;

    struct User {
        id: u64,
        name: String,
    }

    #[derive(Default)]
    struct Repo {
        writes: u32,
    }

    impl Repo {
        #[invalidates(key = "user:<user.id>")]
        async fn save(&mut self, user: User) -> Result<u32, LoadError> {
            self.writes += 1;
            if user.name.is_empty() {
                return Err(LoadError);
            }
            Ok(self.writes)
        }

        #[invalidates(key = "user:<id>", key = "users")]
        async fn delete(&self, id: u64) -> &Self {
            let _ = id;
            self
        }

        #[invalidates(key = "user:<id>")]
        async fn open<T: Display>(&self, id: T) -> impl Display + use<T> {
            id.to_string()
        }
    }

    #[async_trait::async_trait]
    trait Save {
        async fn put(&self, id: u64) -> Result<(), LoadError>;
    }

    #[async_trait::async_trait]
    impl Save for Repo {
        #[invalidates(key = "user:<id>")]
        async fn put(&self, id: u64) -> Result<(), LoadError> {
            if id == 0 { Err(LoadError) } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn the_result_comes_through() {
        let mut repo = Repo::default();
        assert_eq!(is_send(repo.save(User { id: 1, name: "a".into() })).await, Ok(1));
        assert_eq!(repo.save(User { id: 1, name: String::new() }).await, Err(LoadError));
        assert_eq!(repo.delete(1).await.writes, 2);
        assert_eq!(repo.open(1).await.to_string(), "1");
        assert_eq!(Save::put(&repo, 0).await, Err(LoadError));
    }
}

mod nested {
    use super::*;

    #[single_flight(key = "fib:<n>", ttl = 30)]
    async fn fib(n: u64) -> u64 {
        if n < 2 { n } else { Box::pin(fib(n - 1)).await + Box::pin(fib(n - 2)).await }
    }

    #[single_flight(key = "outer:<id>", ttl = 30)]
    async fn outer(id: u64) -> u64 {
        #[single_flight(key = "inner:<id>", ttl = 60, name = "inner")]
        async fn inner(id: u64) -> u64 {
            id + 1
        }
        inner(id).await + inner(id + 1).await
    }

    #[tokio::test]
    async fn functions_call_themselves_and_others() {
        assert_eq!(fib(10).await, 55);
        assert_eq!(outer(1).await, 5);
    }
}

mod keys_by_hand {
    use super::*;

    #[test]
    fn are_rendered_alike() {
        let (id, name, user) = (7_u64, "a:b", (1_u8, Id(2)));
        assert_eq!(key!("user:<id>:<name>/<user.1>"), "user:7:a:b/2");
        assert_eq!(key!("user:<name>:<id>"), "user:a%3Ab:7");
        assert_eq!(key!("t:<T>:<N>", type T = Vec<u8>, N = 1 + 2), "t:alloc%3A%3Avec%3A%3AVec<u8>:3");
        let key: Key = key!("user:<x.len()>", x = name);
        assert_eq!(key.as_str().len() + key.len(), 12);
    }

    #[test]
    fn take_nothing_away_from_their_values() {
        let name = String::from("a");
        let first = key!("<name>");
        assert_eq!((first.as_ref(), name.as_str()), ("a", "a"));
    }
}
