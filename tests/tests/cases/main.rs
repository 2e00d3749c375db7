//! What users of systems like this one have stumbled over in its attribute, one test for each case.
//!
//! Each test has engines of its own, and counts how often bodies run. Times are tokio's, paused: a body that sleeps
//! ends when everybody else waits.

#![deny(warnings)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::needless_lifetimes, reason = "named lifetimes are one of the cases")]

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use singleflight_core::testing::BytesBackend;
use singleflight_core::{
    Clock, FlightError, FlightErrorKind, Policy, SingleFlight, Value, invalidates, key, single_flight,
};
use tokio::sync::Notify;

/// How often bodies ran.
#[derive(Clone, Default)]
struct Loads(Arc<AtomicUsize>);

impl Loads {
    /// One more; which one it is.
    fn begin(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id(u64);

impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct LoadError;

fn is_send<T: Send>(value: T) -> T {
    value
}

/// An engine on this backend, as one of several processes, with TTLs as they are written.
fn process(backend: &Arc<BytesBackend>) -> SingleFlight {
    SingleFlight::builder().backend(backend.clone()).jitter(false).build()
}

fn bytes() -> Arc<BytesBackend> {
    Arc::new(BytesBackend::new(Clock::system()))
}

/// So many calls at once, each in a task of its own.
async fn race<T, F>(flights: &SingleFlight, callers: usize, call: impl Fn() -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let calls: Vec<_> = (0..callers).map(|_| tokio::spawn(flights.scope(call()))).collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.unwrap());
    }
    results
}

mod case01 {
    use super::*;

    struct Repo {
        tenant: &'static str,
        loads: Loads,
    }

    impl Repo {
        #[single_flight(key = "case01:<self.tenant>:<id>", ttl = 30)]
        async fn find(&self, id: u64) -> String {
            self.loads.begin();
            format!("{} {id}", self.tenant)
        }

        #[single_flight(key = "case01:<id>", ttl = 30)]
        async fn find_anybodys(&self, id: u64) -> String {
            format!("{} {id}", self.tenant)
        }
    }

    #[tokio::test]
    async fn case01_tenants_named_in_the_key_are_kept_apart() {
        let flights = SingleFlight::in_memory();
        let loads = Loads::default();
        let [a, b] = ["a", "b"].map(|tenant| Repo { tenant, loads: loads.clone() });
        let calls = async {
            for _ in 0..2 {
                assert_eq!(a.find(1).await, "a 1");
                assert_eq!(b.find(1).await, "b 1");
            }
            // `self` is not part of the key unless it is named, as the documentation says.
            assert_eq!(a.find_anybodys(1).await, "a 1");
            assert_eq!(b.find_anybodys(1).await, "a 1");
        };
        flights.scope(calls).await;
        assert_eq!(loads.count(), 2);
    }
}

mod case02 {
    use super::*;

    trait Native {
        async fn native(&self, id: u64) -> u64;
    }

    #[async_trait::async_trait]
    trait Boxed: Send + Sync {
        async fn boxed(&self, id: u64) -> u64;
    }

    #[async_trait::async_trait(?Send)]
    trait Local {
        async fn local(&self, id: u64) -> u64;
    }

    #[derive(Default)]
    struct Repo(Loads);

    impl Native for Repo {
        #[single_flight(key = "case02:native:<id>", ttl = 30)]
        async fn native(&self, id: u64) -> u64 {
            self.0.begin();
            id + 1
        }
    }

    #[async_trait::async_trait]
    impl Boxed for Repo {
        #[single_flight(key = "case02:boxed:<id>", ttl = 30)]
        async fn boxed(&self, id: u64) -> u64 {
            self.0.begin();
            id + 2
        }
    }

    #[async_trait::async_trait(?Send)]
    impl Local for Repo {
        #[single_flight(key = "case02:local:<id>", ttl = 30)]
        async fn local(&self, id: u64) -> u64 {
            let held = Rc::new(id);
            tokio::task::yield_now().await;
            self.0.begin();
            *held + 3
        }
    }

    #[tokio::test]
    async fn case02_methods_of_traits_of_every_kind() {
        let repo = Repo::default();
        let boxed: &dyn Boxed = &repo;
        let local: &dyn Local = &repo;
        let calls = async {
            for _ in 0..2 {
                assert_eq!(is_send(repo.native(1)).await, 2);
                assert_eq!(is_send(boxed.boxed(1)).await, 3);
                assert_eq!(local.local(1).await, 4);
            }
        };
        SingleFlight::in_memory().scope(calls).await;
        assert_eq!(repo.0.count(), 3);
    }
}

mod case03 {
    use super::*;

    trait Db: Sync {
        type Row: Value + Display;
        fn get(&self, id: u64) -> Self::Row;
    }

    struct Names;
    struct Numbers;

    impl Db for Names {
        type Row = String;
        fn get(&self, id: u64) -> String {
            format!("name {id}")
        }
    }

    impl Db for Numbers {
        type Row = u64;
        fn get(&self, id: u64) -> u64 {
            id * 10
        }
    }

    struct Repo<'a, D, const SHARD: usize> {
        db: &'a D,
        loads: Loads,
    }

    impl<D, const SHARD: usize> Repo<'_, D, SHARD>
    where
        D: Db,
    {
        #[single_flight(key = "case03:<Self>:<id>", ttl = 30)]
        async fn apart(&self, id: u64) -> Result<D::Row, LoadError> {
            self.loads.begin();
            Ok(self.db.get(id))
        }

        #[single_flight(key = "case03:one:<id>", ttl = 30)]
        async fn one_key(&self, id: u64) -> Result<D::Row, LoadError> {
            Ok(self.db.get(id))
        }

        #[single_flight(key = "case03:<T>:<N>:<id>", ttl = 30)]
        async fn generic<T: Display + Send, const N: usize>(&self, id: T) -> Option<String> {
            Some(format!("{id} {N} {SHARD}"))
        }
    }

    #[tokio::test]
    async fn case03_instances_on_one_backend_are_never_confused() {
        let loads = Loads::default();
        let names = Repo::<_, 1> { db: &Names, loads: loads.clone() };
        let numbers = Repo::<_, 2> { db: &Numbers, loads: loads.clone() };
        let calls = async {
            for _ in 0..2 {
                assert_eq!(is_send(names.apart(1)).await, Ok("name 1".into()));
                assert_eq!(is_send(numbers.apart(1)).await, Ok(10));
                assert_eq!(names.one_key(1).await, Ok("name 1".into()));
                assert_eq!(numbers.one_key(1).await, Ok(10));
                assert_eq!(names.generic::<u8, 3>(1).await.as_deref(), Some("1 3 1"));
                assert_eq!(names.generic::<u16, 3>(1).await.as_deref(), Some("1 3 1"));
                assert_eq!(numbers.generic::<u8, 3>(1).await.as_deref(), Some("1 3 2"));
            }
        };
        process(&bytes()).scope(calls).await;
        assert_eq!(loads.count(), 2);
    }
}

mod case04 {
    use super::*;

    #[single_flight(key = "case04:<name>:<part>:<raw>:<text>:<other>", ttl = 30, skip(loads))]
    async fn borrowed<'a>(
        name: &str,
        part: Option<&str>,
        raw: &[u8],
        text: Cow<'_, str>,
        other: &'a str,
        loads: &Loads,
    ) -> String {
        loads.begin();
        format!("{name} {part:?} {raw:?} {text} {other}")
    }

    // That `spawn` needs owned arguments is said in `ui/fail/spawn_borrowed_inside.rs` and its neighbours.
    #[tokio::test]
    async fn case04_borrowed_arguments_in_a_spawned_task() {
        let loads = Loads::default();
        let flights = SingleFlight::in_memory();
        let results = race(&flights, 3, || {
            let loads = loads.clone();
            async move {
                let text = String::from("a");
                borrowed(&text, Some(&text), text.as_bytes(), Cow::Borrowed(&text), &text, &loads).await
            }
        });
        assert_eq!(results.await, ["a Some(\"a\") [97] a a"; 3]);
        assert_eq!(loads.count(), 1);
    }
}

mod case05 {
    use super::*;

    #[single_flight(key = "case05:<n>:<id>:<name.as_ref()>", ttl = 30)]
    async fn patterns(mut n: u64, Id(id): Id, _ctx: &Loads, name: impl AsRef<str>) -> u64 {
        _ctx.begin();
        n += id;
        n + name.as_ref().len() as u64
    }

    #[tokio::test]
    async fn case05_arguments_of_every_shape() {
        let (first, second) = (Loads::default(), Loads::default());
        let calls = async {
            assert_eq!(patterns(1, Id(2), &first, "abc").await, 6);
            assert_eq!(patterns(1, Id(2), &second, String::from("abc")).await, 6);
            assert_eq!(patterns(1, Id(3), &second, "abc").await, 7);
        };
        SingleFlight::in_memory().scope(calls).await;
        assert!(first.count() == 1 && second.count() >= 1);
    }
}

mod case06 {
    use super::*;

    type ApiResult<T> = Result<T, LoadError>;

    #[single_flight(key = "case06:alias", ttl = 30, skip(loads))]
    async fn alias(loads: &Loads) -> ApiResult<usize> {
        let nth = loads.begin();
        if nth < 3 { Err(LoadError) } else { Ok(nth) }
    }

    #[single_flight(key = "case06:io", ttl = 30, skip(loads))]
    async fn io(loads: &Loads) -> std::io::Result<usize> {
        let nth = loads.begin();
        if nth < 3 { Err(std::io::Error::other("disk")) } else { Ok(nth) }
    }

    #[single_flight(key = "case06:any", ttl = 30, skip(loads))]
    async fn any(loads: &Loads) -> anyhow::Result<usize> {
        let nth = loads.begin();
        anyhow::ensure!(nth >= 3, "early");
        Ok(nth)
    }

    #[tokio::test]
    async fn case06_an_error_is_never_stored() {
        let [first, second, third] = [(); 3].map(|()| Loads::default());
        let calls = async {
            for good in [false, false, true, true] {
                assert_eq!(alias(&first).await.ok(), good.then_some(3));
                assert_eq!(io(&second).await.ok(), good.then_some(3));
                assert_eq!(any(&third).await.ok(), good.then_some(3));
            }
        };
        process(&bytes()).scope(calls).await;
        assert_eq!([first, second, third].map(|loads| loads.count()), [3; 3]);
    }
}

mod case07 {
    use super::*;

    /// Neither `Clone` nor `From<FlightError>`, as `sqlx::Error`.
    #[derive(Debug, PartialEq)]
    enum DbError {
        NotFound,
    }

    fn copy(error: &DbError) -> DbError {
        match error {
            DbError::NotFound => DbError::NotFound,
        }
    }

    #[derive(Debug, thiserror::Error)]
    enum Declared {
        #[error("not found")]
        NotFound,
        #[error(transparent)]
        Flight(#[from] FlightError),
    }

    #[single_flight(key = "case07:shared", ttl = 30, share_error = copy, skip(loads))]
    async fn shared(loads: Loads) -> Result<u8, DbError> {
        loads.begin();
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err(DbError::NotFound)
    }

    #[single_flight(key = "case07:declared", ttl = 30, skip(loads))]
    async fn declared(loads: Loads) -> Result<u8, Declared> {
        loads.begin();
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err(Declared::NotFound)
    }

    #[tokio::test(start_paused = true)]
    async fn case07_everyone_gets_the_declared_error() {
        let loads = Loads::default();
        let flights = SingleFlight::in_memory();
        let errors = race(&flights, 50, || shared(loads.clone())).await;
        assert!(errors.iter().all(|error| *error == Err(DbError::NotFound)), "{errors:?}");
        assert_eq!(loads.count(), 1);

        let errors = race(&flights, 50, || declared(loads.clone())).await;
        let own = errors.iter().filter(|error| matches!(error, Err(Declared::NotFound))).count();
        assert_eq!(own, 1, "the leader's own error; the others get it in words: {errors:?}");
        for error in &errors {
            assert!(error.as_ref().unwrap_err().to_string().contains("not found"), "{error:?}");
        }
        assert_eq!(loads.count(), 2);
    }
}

mod case11 {
    use super::*;

    #[single_flight(key = "case11:same", ttl = 30, skip(depth, loads))]
    async fn same(depth: u8, loads: &Loads) -> u8 {
        loads.begin();
        if depth == 0 { 0 } else { Box::pin(same(depth - 1, loads)).await + 1 }
    }

    #[single_flight(key = "case11:fib:<n>", ttl = 30, skip(loads))]
    async fn fib(n: u64, loads: &Loads) -> u64 {
        loads.begin();
        if n < 2 { n } else { Box::pin(fib(n - 1, loads)).await + Box::pin(fib(n - 2, loads)).await }
    }

    #[single_flight(key = "case11:even:<n>", ttl = 30)]
    async fn even(n: u64) -> bool {
        if n == 0 { true } else { Box::pin(odd(n - 1)).await }
    }

    #[single_flight(key = "case11:odd:<n>", ttl = 30)]
    async fn odd(n: u64) -> bool {
        if n == 0 { false } else { Box::pin(even(n - 1)).await }
    }

    #[tokio::test(start_paused = true)]
    async fn case11_functions_that_call_themselves_end() {
        let start = tokio::time::Instant::now();
        let [once, many] = [(); 2].map(|()| Loads::default());
        let calls = async {
            assert_eq!(same(3, &once).await, 3);
            assert_eq!(fib(20, &many).await, 6765);
            assert!(even(10).await && !odd(10).await);
        };
        SingleFlight::in_memory().scope(calls).await;
        assert_eq!((once.count(), many.count()), (4, 21));
        assert_eq!(start.elapsed(), Duration::ZERO, "nobody waits for itself");
    }
}

mod case12 {
    use super::*;

    #[derive(Default)]
    struct Repo {
        row: AtomicUsize,
        hold: AtomicUsize,
        read: Notify,
        go_on: Notify,
    }

    impl Repo {
        #[single_flight(key = "case12:<id>", ttl = 30)]
        async fn find(&self, id: u64) -> usize {
            let _ = id;
            let row = self.row.load(Ordering::SeqCst);
            if self.hold.swap(0, Ordering::SeqCst) == 1 {
                self.read.notify_one();
                self.go_on.notified().await;
            }
            row
        }

        #[invalidates(key = "case12:<id>")]
        async fn save(&self, id: u64, row: usize) {
            let _ = id;
            self.row.store(row, Ordering::SeqCst);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn case12_a_load_begun_before_a_write_is_not_seen_after_it() {
        let backend = bytes();
        let (here, there) = (process(&backend), process(&backend));
        let repo: &Repo = Box::leak(Box::default());
        repo.row.store(1, Ordering::SeqCst);
        repo.hold.store(1, Ordering::SeqCst);
        let late = tokio::spawn(here.scope(repo.find(1)));
        repo.read.notified().await;
        there.scope(repo.save(1, 2)).await;
        repo.go_on.notify_one();
        assert_eq!(late.await.unwrap(), 1, "who called before may have the old row");
        assert_eq!(here.scope(repo.find(1)).await, 2);
        assert_eq!(there.scope(repo.find(1)).await, 2);
    }
}

mod case13 {
    use super::*;

    mod a {
        use super::*;

        #[single_flight(key = "case13:<id>", ttl = 30)]
        pub(super) async fn find(id: u64) -> u64 {
            id
        }
    }

    mod b {
        use super::*;

        #[single_flight(key = "case13:<id>", ttl = 30)]
        pub(super) async fn find(id: u64) -> u64 {
            id + 100
        }
    }

    #[single_flight(key = "case13:<a>:<b>", ttl = 30)]
    async fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[tokio::test]
    async fn case13_functions_and_values_are_kept_apart() {
        let long = "x".repeat(10_000);
        let longer = format!("{long}y");
        let odd = ["", ":", "{", "}", "\0", "é", "a:", ":a", "%", "%3A", "ab", "a", long.as_str(), &longer];
        let calls = async {
            for _ in 0..2 {
                assert_eq!((a::find(1).await, b::find(1).await), (1, 101));
                assert_eq!(pair("ab", "c").await, ("ab".into(), "c".into()));
                assert_eq!(pair("a", "bc").await, ("a".into(), "bc".into()));
                for first in odd {
                    for second in odd {
                        assert_eq!(pair(first, second).await, (first.into(), second.into()));
                    }
                }
            }
        };
        process(&bytes()).scope(calls).await;
    }
}

/// What is refused is in `ui/fail`: `key_float`, `key_float_in_option`, `key_float_local`, `key_without_display`,
/// `key_generic_without_display` and `key_without_debug`. This is what their messages say to write.
mod case14 {
    use super::*;

    #[derive(Debug)]
    enum State {
        New,
        Old,
    }

    #[single_flight(key = "case14:<price.to_bits()>:<raw>:<state:?>", ttl = 30)]
    async fn find(price: f64, raw: Vec<u8>, state: State) -> String {
        format!("{price} {raw:?} {state:?}")
    }

    #[tokio::test]
    async fn case14_the_ways_out_of_a_refusal_work() {
        let calls = async {
            assert_eq!(find(0.5, vec![1], State::New).await, "0.5 [1] New");
            assert_eq!(find(0.5, vec![1], State::Old).await, "0.5 [1] Old");
            assert_eq!(find(0.5, vec![2], State::Old).await, "0.5 [2] Old");
            assert_eq!(find(0.25, vec![2], State::Old).await, "0.25 [2] Old");
        };
        SingleFlight::in_memory().scope(calls).await;
    }
}

/// What is refused by the compiler is in `ui/fail`: `ttl_zero`, `ttl_negative`, `ttl_too_long`, `ttl_fraction`,
/// `ttl_path_zero`, `soft_ttl_longer`, `soft_ttl_path_longer`, `lock_ttl_zero`, `lock_ttl_path_zero`,
/// `negative_ttl_zero` and `policy_out_of_range`. These are values made at run time.
mod case15 {
    use super::*;

    #[tokio::test]
    async fn case15_senseless_durations_are_refused_and_never_mean_for_ever() {
        let flights = SingleFlight::in_memory();
        let load = || async { Ok::<u8, FlightError>(1) };
        let second = Duration::from_secs(1);
        let refused = [
            Policy::new().ttl(Duration::ZERO),
            Policy::new().ttl(Duration::MAX),
            Policy::new().ttl(second).soft_ttl(2 * second),
            Policy::new().ttl(second).lock_ttl(singleflight_core::LockTtl::Fixed(Duration::ZERO)),
        ];
        for policy in refused {
            let error = flights.flight("case15").policy(policy).run(load).await.unwrap_err();
            assert_eq!(error.kind(), FlightErrorKind::Misconfigured, "{policy:?}");
            assert!(flights.override_policy("case15", policy).is_err(), "{policy:?}");
        }
        let sub_second = Policy::new().ttl(Duration::from_millis(1));
        assert_eq!(flights.flight("case15").policy(sub_second).run(load).await.unwrap(), 1);
    }
}

mod case16 {
    use super::*;

    #[single_flight(key = "case16:plain:<id>", ttl = 60, skip(loads))]
    async fn plain(id: u64, loads: &Loads) -> Option<u64> {
        loads.begin();
        (id > 0).then_some(id)
    }

    #[single_flight(key = "case16:negative:<id>", ttl = 60, negative_ttl = 5, skip(loads))]
    async fn negative(id: u64, loads: &Loads) -> Result<Option<u64>, LoadError> {
        loads.begin();
        Ok((id > 0).then_some(id))
    }

    async fn both(flights: &SingleFlight, first: &Loads, second: &Loads) {
        let calls = async {
            for id in [0, 1] {
                assert_eq!(plain(id, first).await, (id > 0).then_some(id));
                assert_eq!(negative(id, second).await, Ok((id > 0).then_some(id)));
            }
        };
        flights.scope(calls).await;
    }

    #[tokio::test(start_paused = true)]
    async fn case16_none_is_a_value_with_a_ttl_of_its_own() {
        let backend = bytes();
        let (first, second) = (Loads::default(), Loads::default());
        let (here, there) = (process(&backend), process(&backend));
        for flights in [&here, &here, &there, &there] {
            both(flights, &first, &second).await;
        }
        assert_eq!((first.count(), second.count()), (2, 2), "no `None` was taken for a miss");
        tokio::time::advance(Duration::from_secs(6)).await;
        both(&here, &first, &second).await;
        both(&there, &first, &second).await;
        assert_eq!((first.count(), second.count()), (2, 3), "`Ok(None)` alone has expired");
    }
}

/// How much a future grows is in `size.rs`.
mod case17 {
    use super::*;

    #[single_flight(key = "case17:sendable", ttl = 30)]
    async fn sendable() -> u8 {
        tokio::task::yield_now().await;
        1
    }

    #[single_flight(key = "case17:unsendable", ttl = 30)]
    async fn unsendable() -> u8 {
        let held = Rc::new(1);
        tokio::task::yield_now().await;
        *held
    }

    struct Probe<T>(T);

    impl<T: Send> Probe<&T> {
        fn is_send(&self) -> bool {
            true
        }
    }

    trait NotSend {
        fn is_send(&self) -> bool {
            false
        }
    }

    impl<T> NotSend for &Probe<T> {}

    #[tokio::test]
    async fn case17_a_future_is_send_exactly_if_its_body_is() {
        let (yes, no) = (sendable(), unsendable());
        assert!(Probe(&yes).is_send());
        assert!(!(&Probe(&no)).is_send());
        assert_eq!(SingleFlight::in_memory().scope(async { (yes.await, no.await) }).await, (1, 1));
    }
}

/// The crate under another name is in `tests/renamed`.
mod case18_made_by_macros {
    use super::*;

    macro_rules! find {
        ($name:ident, $key:literal, $arg:ident: $ty:ty => $value:ty, $body:expr) => {
            #[single_flight(key = $key, ttl = 30)]
            async fn $name($arg: $ty) -> Option<$value> {
                let local = $arg;
                let _ = local;
                $body
            }
        };
        ($name:ident) => {
            #[single_flight(key = "inner:<id>", ttl = 30)]
            async fn $name(id: u8) -> u8 {
                id
            }
        };
    }

    find!(one, "one:<id>", id: u8 => u16, Some(u16::from(id)));
    find!(two);

    struct Both;

    macro_rules! method {
        ($trait:ident, $add:expr) => {
            trait $trait {
                async fn get(&self, id: u64) -> u64;
            }
            impl $trait for Both {
                #[single_flight(key = "get:<id>", ttl = 30)]
                async fn get(&self, id: u64) -> u64 {
                    id + $add
                }
            }
        };
    }

    method!(First, 1);
    method!(Second, 2);

    #[tokio::test]
    async fn case18_functions_and_methods_made_by_macros() {
        assert_eq!(one(1).await, Some(1));
        assert_eq!(two(1).await, 1);
        assert_eq!(First::get(&Both, 1).await, 2);
        assert_eq!(Second::get(&Both, 1).await, 3);
    }
}

mod case18_re_exported {
    pub(crate) mod facade {
        pub(crate) use singleflight_core as inner;
    }

    #[facade::inner::single_flight(key = "facade:<id>", ttl = 30, crate = facade::inner)]
    async fn find(id: u8) -> Option<u8> {
        Some(id)
    }

    #[facade::inner::invalidates(key = "facade:<id>", crate = facade::inner)]
    async fn save(id: u8) {
        let _ = id;
    }

    #[tokio::test]
    async fn case18_through_a_facade() {
        assert_eq!(find(1).await, Some(1));
        save(1).await;
        let id = 1;
        assert_eq!(facade::inner::key!("a:<id>", crate = facade::inner), "a:1");
    }
}

mod case19 {
    use super::*;

    /// Counts how often it is displayed; it cannot be cloned.
    struct Counted(Loads);

    impl Display for Counted {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.begin();
            f.write_str("counted")
        }
    }

    #[single_flight(key = "case19:<id>", ttl = 30, skip(loads))]
    async fn find(id: Counted, loads: &Loads) -> usize {
        drop(id);
        loads.begin()
    }

    #[tokio::test]
    async fn case19_a_hit_renders_the_key_once_and_runs_nothing_else() {
        let loads = Loads::default();
        let calls = async {
            for nth in 1..=3 {
                let rendered = Loads::default();
                assert_eq!(find(Counted(rendered.clone()), &loads).await, 1, "call {nth}");
                assert_eq!(rendered.count(), 1, "call {nth}");
            }
        };
        SingleFlight::in_memory().scope(calls).await;
        assert_eq!(loads.count(), 1);
    }
}

mod case20 {
    use super::*;

    #[single_flight(key = "case20:<id>", ttl = 30, skip(loads))]
    async fn find(id: u64, loads: Loads) -> u64 {
        let nth = loads.begin() as u64;
        tokio::time::sleep(Duration::from_millis(50)).await;
        id + nth
    }

    #[tokio::test(start_paused = true)]
    async fn case20_bytes_that_no_longer_decode_are_loaded_once() {
        let backend = bytes();
        let loads = Loads::default();
        assert_eq!(process(&backend).scope(find(10, loads.clone())).await, 11);
        let id = 10;
        assert!(backend.corrupt(&key!("case20:<id>"), b"\xc1 of another schema"));
        let (here, there) = (process(&backend), process(&backend));
        let call = || find(10, loads.clone());
        let (a, b) = tokio::join!(race(&here, 25, call), race(&there, 25, call));
        assert!(a.iter().chain(&b).all(|value| *value == 12), "{a:?} {b:?}");
        assert_eq!(loads.count(), 2);
        assert_eq!(there.scope(call()).await, 12);
    }
}
