//! `spawn`: fills that are tasks of their own, on every shape of function that can have one.

#![deny(warnings)]

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use singleflight_core::control::CallOutcome;
use singleflight_core::{SingleFlight, control, single_flight};
use tokio::sync::Semaphore;

#[derive(Clone, Debug, PartialEq)]
struct LoadError;

fn helper() -> u64 {
    1
}

#[derive(Clone)]
struct Repo {
    tenant: String,
    flights: SingleFlight,
    loads: Arc<AtomicU32>,
    gate: Arc<Semaphore>,
}

impl Repo {
    const K: u64 = 10;

    fn new(permits: usize) -> Self {
        Self {
            tenant: "t".into(),
            flights: SingleFlight::in_memory(),
            loads: Arc::default(),
            gate: Arc::new(Semaphore::new(permits)),
        }
    }

    #[single_flight(key = "<self.tenant>:<id>:<name>", ttl = 60, spawn, flights = &self.flights)]
    async fn find(&self, id: u64, name: &str) -> Result<Option<String>, LoadError> {
        struct Own(u64);
        impl Own {
            fn get(&self) -> u64 {
                self.0
            }
        }
        self.loads.fetch_add(1, Ordering::Relaxed);
        let _permit = self.gate.acquire().await;
        if id == 0 {
            Err(LoadError)?;
        }
        let sum = async { id + Self::K + self::helper() + Own(1).get() };
        let more = || format!("{}:{name}", self.tenant);
        Ok(Some(format!("{}{}{:?}", more(), sum.await, self.tenant.len())))
    }

    #[single_flight(key = "arc:<id>", ttl = 60, spawn, flights = &self.flights.clone())]
    async fn by_arc(self: Arc<Self>, id: u64) -> String {
        format!("{}{id}", self.tenant)
    }

    #[single_flight(key = "value:<self.tenant>", ttl = 60, spawn, flights = &self.flights.clone())]
    async fn by_value(mut self) -> String {
        self.tenant.push('!');
        self.tenant
    }

    #[single_flight(key = "borrowed_arc:<self.tenant>", ttl = 60, spawn, flights = &self.flights)]
    async fn by_borrowed_arc(self: &Arc<Self>) -> String {
        self.tenant.clone()
    }
}

#[single_flight(
    key = "shapes:<text>:<bytes>:<shown>:<owned>",
    ttl = 60,
    spawn,
    flights = flights,
    skip(flights),
    losers = "default",
    default = owned
)]
#[expect(clippy::needless_lifetimes, reason = "named lifetimes are among the shapes")]
async fn shapes<'a>(
    flights: &SingleFlight,
    text: &'a str,
    bytes: &[u8],
    shown: &(impl Display + Clone + Send + Sync + 'static),
    mut owned: String,
    _: &Repo,
) -> String {
    let _: &str = text;
    let again: &'static str = "";
    owned.push_str(again);
    owned.push_str(text);
    format!("{owned}{}{shown}", bytes.len())
}

#[async_trait::async_trait]
trait Find {
    async fn find_boxed(&self, name: &str, id: u64) -> Result<u64, LoadError>;
}

#[async_trait::async_trait]
impl Find for Repo {
    #[single_flight(key = "boxed:<self.tenant>:<name>:<id>", ttl = 60, spawn, flights = &self.flights)]
    async fn find_boxed(&self, name: &str, mut id: u64) -> Result<u64, LoadError> {
        id += name.len() as u64;
        let found = self.find(id, name).await?;
        Ok(found.map_or(0, |found| found.len() as u64))
    }
}

#[tokio::test]
async fn every_shape_returns_what_its_body_does() {
    let repo = Repo::new(1);
    assert_eq!(repo.find(1, "n").await, Ok(Some("t:n131".into())));
    assert_eq!(repo.find(1, "n").await, Ok(Some("t:n131".into())));
    assert_eq!(repo.find(0, "n").await, Err(LoadError));
    assert_eq!(repo.loads.load(Ordering::Relaxed), 2);
    assert_eq!(Arc::new(repo.clone()).by_arc(1).await, "t1");
    assert_eq!(repo.clone().by_value().await, "t!");
    assert_eq!(Arc::new(repo.clone()).by_borrowed_arc().await, "t");
    assert_eq!(shapes(&repo.flights, "b", &[1, 2], &7, "a".into(), &repo).await, "ab27");
    assert_eq!(repo.find_boxed("n", 1).await, Ok(6));
}

#[tokio::test]
async fn a_fill_outlives_the_caller_that_started_it() {
    let repo = Repo::new(0);
    let caller = tokio::spawn({
        let repo = repo.clone();
        async move { repo.find(1, "n").await }
    });
    while repo.loads.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    repo.gate.add_permits(1);
    assert_eq!(repo.find(1, "n").await, Ok(Some("t:n131".into())));
    assert_eq!(repo.loads.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_panic_of_the_fill_is_its_callers() {
    #[single_flight(key = "panics", ttl = 60, spawn, flights = flights, skip(flights))]
    async fn panics(flights: &SingleFlight) -> u8 {
        panic!("in the body")
    }
    let flights = SingleFlight::in_memory();
    let panic = tokio::spawn(async move { panics(&flights).await }).await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in the body"));
}

/// What a call carries with it without an argument reaches the task.
mod surroundings {
    use super::*;

    /// How often each body ran.
    #[derive(Clone, Default)]
    struct Bodies {
        outer: Arc<AtomicU32>,
        inner: Arc<AtomicU32>,
    }

    impl Bodies {
        #[single_flight(key = "surroundings:outer", ttl = 60, soft_ttl = 10, spawn)]
        async fn outer(&self) -> u32 {
            let nth = self.outer.fetch_add(1, Ordering::Relaxed) + 1;
            tokio::task::yield_now().await;
            self.inner().await;
            nth
        }

        #[single_flight(key = "surroundings:inner", ttl = 60, spawn)]
        async fn inner(&self) {
            self.inner.fetch_add(1, Ordering::Relaxed);
        }

        fn counts(&self) -> (u32, u32) {
            (self.outer.load(Ordering::Relaxed), self.inner.load(Ordering::Relaxed))
        }
    }

    #[tokio::test]
    async fn the_engine_in_scope_is_the_tasks() {
        let (flights, other) = (SingleFlight::in_memory(), SingleFlight::in_memory());
        let bodies = Bodies::default();
        assert_eq!(flights.scope(bodies.outer()).await, 1);
        assert_eq!(flights.statistics().total.fills, 2, "both on the engine in scope");
        flights.scope(bodies.inner()).await;
        assert_eq!(bodies.counts(), (1, 1));
        assert_eq!(other.scope(bodies.outer()).await, 2, "and nothing on another");
        assert_eq!(bodies.counts(), (2, 2));
    }

    #[tokio::test]
    async fn bypass_covers_everything_below() {
        let (flights, bodies) = (SingleFlight::in_memory(), Bodies::default());
        for nth in 1..=2 {
            assert_eq!(control::bypass(flights.scope(bodies.outer())).await, nth);
            assert_eq!(bodies.counts(), (nth, nth));
        }
        assert_eq!(flights.statistics().total.fills, 0);
    }

    #[tokio::test]
    async fn refresh_and_outcome_concern_the_outermost_call() {
        let (flights, bodies) = (SingleFlight::in_memory(), Bodies::default());
        let call = || flights.scope(bodies.outer());
        assert_eq!(control::outcome(call()).await, (1, vec![CallOutcome::Filled]));
        assert_eq!(control::outcome(control::refresh(call())).await, (2, vec![CallOutcome::Filled]));
        assert_eq!(bodies.counts(), (2, 1), "the call inside was answered as usual");
        assert_eq!(control::outcome(call()).await, (2, vec![CallOutcome::Hit]));
    }

    #[tokio::test(start_paused = true)]
    async fn how_a_refresh_ends_is_not_the_outcome_of_who_began_it() {
        let (flights, bodies) = (SingleFlight::in_memory(), Bodies::default());
        flights.scope(bodies.outer()).await;
        tokio::time::advance(std::time::Duration::from_secs(11)).await;
        let ended = async {
            let answer = flights.scope(bodies.outer()).await;
            while flights.in_progress() > 0 {
                tokio::task::yield_now().await;
            }
            answer
        };
        assert_eq!(control::outcome(ended).await, (1, vec![CallOutcome::Stale]));
        assert_eq!(bodies.counts(), (2, 1));
    }
}
