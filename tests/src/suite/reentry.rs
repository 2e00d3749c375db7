//! P21: loads that call each other.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use singleflight_core::{Policy, SingleFlight, Site, control};
use tokio::sync::Barrier;

use crate::harness::{Harness, LEASE, pass, plain, soft, unhurried, within};
use crate::source::{LoadError, Source};

static OUTER: Site = Site::new("shop::outer");
static INNER: Site = Site::new("shop::inner");

type Answer = Pin<Box<dyn Future<Output = Result<u64, LoadError>> + Send>>;

/// `key` is `left` and one more than what it says when asked inside its own load.
fn nested(
    flights: SingleFlight,
    key: &'static str,
    policy: Policy,
    left: u64,
    loads: Arc<AtomicUsize>,
) -> Answer {
    Box::pin(async move {
        let inner = flights.clone();
        let load = || async move {
            loads.fetch_add(1, Ordering::SeqCst);
            if left == 0 {
                return Ok(0);
            }
            Ok(1 + nested(inner, key, policy, left - 1, loads).await?)
        };
        flights.flight(key).site(&OUTER).policy(policy).run_sharing(load).await
    })
}

/// The same key inside its own load: the body is run.
pub async fn p21_a_key_inside_its_own_load_runs_the_body(harness: &dyn Harness) {
    let process = harness.process();
    let loads = Arc::new(AtomicUsize::new(0));
    let call = nested(process.flights.clone(), "k", plain(), 3, loads.clone());
    assert_eq!(within(LEASE / 2, call).await.unwrap(), 3);
    assert_eq!(loads.load(Ordering::SeqCst), 4);
    harness.freed().await;
    assert_eq!(process.flights.in_progress(), 0);
}

/// The same while a stale copy is refreshed, also for those who wait for the new one.
pub async fn p21_a_key_inside_its_own_refresh_does_not_hang(harness: &dyn Harness) {
    for policy in [soft(), soft().losers(singleflight_core::Losers::Wait)] {
        let process = harness.process();
        let loads = Arc::new(AtomicUsize::new(0));
        let call = || nested(process.flights.clone(), "k", policy, 1, loads.clone());
        call().await.unwrap();
        pass(11 * LEASE).await;
        assert!(within(LEASE / 2, call()).await.is_ok());
        assert!(within(LEASE / 2, control::refresh(call())).await.is_ok());
        process.flights.invalidate("k").await.unwrap();
    }
}

/// The same key through another function: they share the lease, so the inner one must not wait for the outer.
pub async fn p21_another_function_of_the_same_key_does_not_wait_for_it(harness: &dyn Harness) {
    let process = harness.process();
    let source = Source::quick();
    let flights = &process.flights;
    let load = || async {
        let inner = flights.flight("k").site(&INNER).policy(plain()).run_sharing(|| source.load());
        inner.await.map(|value| format!("row {value}"))
    };
    let call = flights.flight("k").site(&OUTER).policy(plain()).run_sharing::<_, LoadError, _, _>(load);
    assert_eq!(within(LEASE / 2, call).await.unwrap(), "row 1");
    harness.freed().await;
}

/// A load that calls the same function with a smaller key.
pub async fn p21_a_smaller_key_is_another_key(harness: &dyn Harness) {
    fn fib(flights: SingleFlight, n: u64, loads: Arc<AtomicUsize>) -> Answer {
        Box::pin(async move {
            let inner = flights.clone();
            let load = || async move {
                loads.fetch_add(1, Ordering::SeqCst);
                if n < 2 {
                    return Ok(n);
                }
                let (a, b) = (fib(inner.clone(), n - 1, loads.clone()), fib(inner, n - 2, loads));
                Ok(a.await? + b.await?)
            };
            flights
                .flight(&format!("fib:{n}"))
                .site(&OUTER)
                .policy(unhurried(plain()))
                .run_sharing(load)
                .await
        })
    }
    let process = harness.process();
    let loads = Arc::new(AtomicUsize::new(0));
    let call = fib(process.flights.clone(), 40, loads.clone());
    assert_eq!(within(20 * LEASE, call).await.unwrap(), 102_334_155);
    assert_eq!(loads.load(Ordering::SeqCst), 41);
}

/// One of two keys whose loads call each other; both loads have begun before either calls.
fn crosswise(
    flights: SingleFlight,
    (mine, other): (&'static str, &'static str),
    policy: Policy,
    both: Arc<Barrier>,
) -> Answer {
    Box::pin(async move {
        let inner = flights.clone();
        let load = || async move {
            both.wait().await;
            let load = || async { Ok::<u64, LoadError>(1) };
            Ok(1 + inner.flight(other).site(&OUTER).policy(policy).run_sharing(load).await?)
        };
        flights.flight(mine).site(&OUTER).policy(policy).run_sharing(load).await
    })
}

/// Crosswise in one process: found at once. *cockroach #117420*.
pub async fn p21_crosswise_keys_end_at_once_in_a_process(harness: &dyn Harness) {
    let process = harness.process();
    let both = Arc::new(Barrier::new(2));
    let a = tokio::spawn(crosswise(process.flights.clone(), ("a", "b"), plain(), both.clone()));
    let b = tokio::spawn(crosswise(process.flights.clone(), ("b", "a"), plain(), both));
    assert!(within(LEASE / 2, a).await.unwrap().unwrap() >= 2);
    assert!(within(LEASE / 2, b).await.unwrap().unwrap() >= 2);
    assert_eq!(process.flights.in_progress(), 0);
    harness.freed().await;
}

/// Crosswise in two processes: found when the wait budget ends.
pub async fn p21_crosswise_keys_end_within_the_budget_across_processes(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let both = Arc::new(Barrier::new(2));
    let policy = plain().wait(3 * LEASE);
    let one = tokio::spawn(crosswise(a.flights.clone(), ("a", "b"), policy, both.clone()));
    let two = tokio::spawn(crosswise(b.flights.clone(), ("b", "a"), policy, both));
    assert!(within(5 * LEASE, one).await.unwrap().unwrap() >= 2);
    assert!(within(5 * LEASE, two).await.unwrap().unwrap() >= 2);
    harness.freed().await;
}

/// Crosswise where one of them was forced to load anew.
pub async fn p21_crosswise_keys_end_at_once_when_refreshed(harness: &dyn Harness) {
    let process = harness.process();
    let both = Arc::new(Barrier::new(2));
    let refresh = control::refresh(crosswise(process.flights.clone(), ("a", "b"), plain(), both.clone()));
    let a = tokio::spawn(refresh);
    let b = tokio::spawn(crosswise(process.flights.clone(), ("b", "a"), plain(), both));
    assert!(within(LEASE, a).await.unwrap().unwrap() >= 2);
    assert!(within(LEASE, b).await.unwrap().unwrap() >= 2);
}

/// Crosswise where one flight was invalidated, and its next leader waits for the lease of the one that came after it.
pub async fn p21_crosswise_keys_end_at_once_after_an_invalidate(harness: &dyn Harness) {
    fn nested(flights: SingleFlight, mine: &'static str, after: u32, other: Option<&'static str>) -> Answer {
        Box::pin(async move {
            let inner = flights.clone();
            let load = || async move {
                tokio::time::sleep(after * LEASE / 100).await;
                match other {
                    Some(other) => nested(inner, other, 1, None).await,
                    None => Ok(1),
                }
            };
            flights.flight(mine).site(&OUTER).policy(plain()).run_sharing(load).await
        })
    }
    let flights = harness.process().flights;
    let first = tokio::spawn(nested(flights.clone(), "a", 1_000, None));
    pass(LEASE / 20).await;
    let b = tokio::spawn(nested(flights.clone(), "b", 1, Some("a")));
    pass(LEASE / 20).await;
    flights.invalidate("a").await.unwrap();
    let second = tokio::spawn(nested(flights.clone(), "a", 1, Some("b")));
    pass(LEASE / 20).await;
    first.abort();
    assert_eq!(within(LEASE, b).await.unwrap().unwrap(), 1);
    assert_eq!(within(LEASE, second).await.unwrap().unwrap(), 1);
}
