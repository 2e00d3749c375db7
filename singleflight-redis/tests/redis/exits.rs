//! How loads end, and that nothing is left of them.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use singleflight_core::testing::conformance;
use singleflight_core::{FlightError, LockTtl, Policy, SingleFlight};
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::rig::{MINUTE, PATIENCE, Source, bytes, engine, patient, soon};

const MS: Duration = Duration::from_millis(1);

/// Loads that leave nothing behind but a failure's note, for a second.
async fn nothing_is_left(server: &Server, flights: &SingleFlight) {
    let leases = || server.keys().into_iter().filter(|key| key.ends_with("}l") || key.contains("}x")).count();
    soon("no lease is left", async || leases() == 0).await;
    assert_eq!(flights.in_progress(), 0);
    server.assert_every_key_ends();
}

async fn call<F>(
    flights: &SingleFlight,
    key: &str,
    load: impl Fn() -> F + Send + Sync,
) -> Result<u32, FlightError>
where
    F: Future<Output = Result<u32, FlightError>> + Send,
{
    flights.flight(key).ttl(MINUTE).lock_ttl(MINUTE).run(load).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p08_the_lease_is_freed_on_every_exit() {
    let server = Server::start();
    let flights = engine(&server).await;
    call(&flights, "value", || async { Ok(1) }).await.unwrap();
    nothing_is_left(&server, &flights).await;
    let failed = call(&flights, "error", || async {
        let held = SingleFlight::in_memory();
        held.flight("x").ttl(Duration::ZERO).run(|| async { Ok::<_, FlightError>(1) }).await
    });
    failed.await.unwrap_err();
    nothing_is_left(&server, &flights).await;
    let cancelled = timeout(50 * MS, call(&flights, "cancel", pending));
    cancelled.await.unwrap_err();
    nothing_is_left(&server, &flights).await;
    let panicked = tokio::spawn({
        let flights = flights.clone();
        async move { call(&flights, "panic", || async { panic!("as a body may") }).await }
    });
    assert!(panicked.await.unwrap_err().is_panic());
    nothing_is_left(&server, &flights).await;
    for key in ["value", "error", "cancel", "panic"] {
        assert!(call(&flights, key, || async { Ok(2) }).await.is_ok(), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p16_a_dropped_leader_hands_its_lease_to_a_follower() {
    let server = Server::start();
    let (flights, other, source) = (engine(&server).await, engine(&server).await, Source::default());
    let leader = tokio::spawn({
        let flights = flights.clone();
        async move { source_call(&flights, Source::default(), MINUTE).await }
    });
    soon("the lease is taken", async || server.keys().iter().any(|key| key.ends_with("}l"))).await;
    let followers: Vec<_> = [&flights, &flights, &other]
        .map(|flights| {
            let (flights, source) = (flights.clone(), source.clone());
            tokio::spawn(async move { source_call(&flights, source, 50 * MS).await })
        })
        .into_iter()
        .collect();
    // So that they are waiting; it makes no difference to what they are answered.
    sleep(100 * MS).await;
    leader.abort();
    for follower in followers {
        assert_eq!(timeout(PATIENCE, follower).await.expect("nobody hangs").unwrap().unwrap(), 1);
    }
    assert_eq!(source.loads(), 1);
    nothing_is_left(&server, &flights).await;
}

/// Waits for a permit and uses it up.
async fn pass(gate: &Semaphore) {
    gate.acquire().await.unwrap().forget();
}

async fn source_call(flights: &SingleFlight, source: Source, took: Duration) -> Result<usize, FlightError> {
    source.call(flights, "k", took).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p18_a_stale_value_is_answered_at_once_and_refreshed_once_in_the_fleet() {
    let server = Server::start();
    let fleet = [engine(&server).await, engine(&server).await];
    let source = Source::default();
    const HOT: Policy =
        Policy::new().ttl(MINUTE).soft_ttl(Duration::from_millis(100)).lock_ttl(LockTtl::Fixed(MINUTE));
    let gate = Arc::new(Semaphore::new(1));
    let ask = |flights: &SingleFlight| {
        let (flights, source, gate) = (flights.clone(), source.clone(), gate.clone());
        async move {
            let load =
                || async { source.call_until(&SingleFlight::in_memory(), "count", || pass(&gate)).await };
            flights.flight("k").policy(HOT).run(load).await.unwrap()
        }
    };
    assert_eq!(ask(&fleet[0]).await, 1);
    sleep(120 * MS).await;
    let mut calls = JoinSet::new();
    for caller in 0..4 {
        calls.spawn(ask(&fleet[caller % 2]));
    }
    for _ in 0..3 {
        let answer = timeout(PATIENCE, calls.join_next()).await.expect("it is not waited for the refresh");
        assert_eq!(
            answer.unwrap().unwrap(),
            1,
            "everyone but the one who refreshes is answered with the copy"
        );
    }
    gate.add_permits(1);
    assert_eq!(calls.join_next().await.unwrap().unwrap(), 2);
    assert_eq!(source.loads(), 2, "one refresh");
    let stored = bytes(fleet[1].backend().read("test:k").await);
    assert_eq!(stored.as_deref(), Some(&[2][..]), "in MessagePack");
}

#[tokio::test]
async fn keys_of_any_prefix_pass_a_few_checks() {
    struct Rig(Arc<RedisBackend>);
    #[async_trait::async_trait]
    impl conformance::Harness for Rig {
        fn backend(&self) -> Arc<dyn singleflight_core::LeaseBackend> {
            self.0.clone()
        }
        async fn pass(&self, time: Duration) {
            sleep(time).await;
        }
    }
    let server = Server::start();
    for prefix in ["", "a:b:", "}", "é "] {
        let backend = patient(&server.url()).prefix(prefix).connections(2).connect().await.unwrap();
        let rig = Rig(Arc::new(backend));
        conformance::check("p22_keys_of_any_bytes_and_length_keep_their_values", &rig).await;
        conformance::check("p20_a_watch_hears_a_publish", &rig).await;
    }
    assert!(server.keys().iter().any(|key| key.starts_with("a:b:{")));
}
