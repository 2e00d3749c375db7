//! Functions of every shape, and futures that are `Send` or not.

use std::borrow::Cow;
use std::fmt::Display;
use std::rc::Rc;

use singleflight_core::{SingleFlight, Value, single_flight};

use crate::{Id, LoadError, Loads, bytes, is_send, process, race};

mod case_01 {
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
    async fn case_01_tenants_named_in_the_key_are_kept_apart() {
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

mod case_02 {
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
    async fn case_02_methods_of_traits_of_every_kind() {
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

mod case_03 {
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
    async fn case_03_instances_on_one_backend_are_never_confused() {
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

mod case_04 {
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
    async fn case_04_borrowed_arguments_in_a_spawned_task() {
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

mod case_05 {
    use super::*;

    #[single_flight(key = "case05:<n>:<id>:<name.as_ref()>", ttl = 30)]
    async fn patterns(mut n: u64, Id(id): Id, _ctx: &Loads, name: impl AsRef<str>) -> u64 {
        _ctx.begin();
        n += id;
        n + name.as_ref().len() as u64
    }

    #[tokio::test]
    async fn case_05_arguments_of_every_shape() {
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

/// How much a future grows is in `size.rs`.
mod case_17 {
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
    async fn case_17_a_future_is_send_exactly_if_its_body_is() {
        let (yes, no) = (sendable(), unsendable());
        assert!(Probe(&yes).is_send());
        assert!(!(&Probe(&no)).is_send());
        assert_eq!(SingleFlight::in_memory().scope(async { (yes.await, no.await) }).await, (1, 1));
    }
}
