//! Two functions, or two versions of one, that use the same key.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::backend::Medium;
use singleflight_core::{Policy, SingleFlight, Site, control};
use tokio::sync::Barrier;

use crate::harness::{Harness, KEY, LEASE, all, pass, plain, soft, within};
use crate::source::{LoadError, Source};

static ONE: Site = Site::named("one");
static OTHER: Site = Site::named("other");

async fn call(
    flights: &SingleFlight,
    (site, key): (&'static Site, &str),
    policy: Policy,
    source: &Source,
) -> Result<u64, LoadError> {
    flights.flight(key).site(site).policy(policy).run_sharing(|| source.load()).await
}

/// A function whose twin failed loads for itself: while waiting for the twin's lease, and while the twin cools down.
pub async fn p15_a_failure_is_only_for_calls_of_the_same_function(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().error_cooldown(5 * LEASE);
    let (failing, good) = (Source::gated(), Source::quick());
    failing.fail(true);
    let twin = {
        let (flights, failing) = (a.flights.clone(), failing.clone());
        tokio::spawn(async move { call(&flights, (&ONE, "twins"), policy, &failing).await })
    };
    failing.began().await;
    let waits = {
        let (flights, good) = (b.flights.clone(), good.clone());
        tokio::spawn(async move { call(&flights, (&OTHER, "twins"), policy, &good).await })
    };
    pass(LEASE / 10).await;
    failing.let_through(1);
    assert!(twin.await.unwrap().is_err());
    assert_eq!(within(LEASE, waits).await.unwrap().unwrap(), 1);
    b.flights.invalidate("twins").await.unwrap();
    failing.let_through(1);
    assert!(call(&a.flights, (&ONE, "twins"), policy, &failing).await.is_err());
    assert_eq!(call(&a.flights, (&OTHER, "twins"), policy, &good).await.unwrap(), 1);
}

/// After a failed refresh nobody who has a copy tries again for a while; who asks for a new value does.
pub async fn p15_a_refresh_that_is_asked_for_is_tried_although_the_last_one_failed(harness: &dyn Harness) {
    let process = harness.process();
    let source = Source::quick();
    process.call(soft(), &source).await.unwrap();
    pass(11 * LEASE).await;
    source.fail(true);
    assert_eq!(process.call(soft(), &source).await.unwrap(), 1, "the copy");
    source.fail(false);
    source.set(2);
    assert_eq!(process.call(soft(), &source).await.unwrap(), 1, "not tried again");
    assert_eq!(control::refresh(process.call(soft(), &source)).await.unwrap(), 2);
    assert_eq!(process.call(soft(), &source).await.unwrap(), 2, "and stored");
}

/// Crosswise through two functions of one template: they meet at the leases alone.
pub async fn p21_crosswise_twins_end_at_once(harness: &dyn Harness) {
    let flights = harness.process().flights;
    let both = Arc::new(Barrier::new(2));
    let tasks = [("x", "y"), ("y", "x")].map(|(mine, other)| {
        let (flights, both) = (flights.clone(), both.clone());
        tokio::spawn(async move {
            let inner = flights.clone();
            let load = || async move {
                both.wait().await;
                call(&inner, (&OTHER, other), plain(), &Source::quick()).await
            };
            flights.flight(mine).site(&ONE).policy(plain()).run_sharing(load).await
        })
    });
    for task in tasks {
        assert_eq!(within(LEASE, task).await.unwrap().unwrap(), 1);
    }
}

/// Beside a newer record an older build loads once, and holds what it got for a moment.
pub async fn p14_an_older_version_loads_once_beside_a_newer(harness: &dyn Harness) {
    let (new, old) = (harness.process(), harness.process());
    let source = Source::slow(Duration::from_millis(10));
    new.call(plain().version(2), &source).await.unwrap();
    source.set(9);
    for result in all(old.spawn_many(20, plain().version(1), &source)).await {
        assert_eq!(result.unwrap(), 9);
    }
    assert_eq!(old.call(plain().version(1), &source).await.unwrap(), 9);
    assert_eq!(source.loads(), 2, "one of each");
    assert_eq!(new.call(plain().version(2), &source).await.unwrap(), 1, "the newer one stays");
}

/// Calls by hand of one key and several types never have one another's value.
pub async fn p22_calls_by_hand_share_no_value_of_another_type(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    for process in [&a, &b] {
        let flight = || process.flights.flight(KEY).policy(plain());
        assert_eq!(flight().run(|| async { Ok::<u64, LoadError>(1) }).await.unwrap(), 1);
        let float: f64 = flight().run(|| async { Ok::<_, LoadError>(4.5) }).await.unwrap();
        assert!((float - 4.5).abs() < 0.1, "{float}");
        assert_eq!(flight().run(|| async { Ok::<i32, LoadError>(-3) }).await.unwrap(), -3);
    }
    // Whatever a process has called before, it finds what the others stored.
    let last = || a.flights.flight(KEY).policy(plain());
    let other = b.flights.flight(KEY).policy(plain());
    assert_eq!(other.run(|| async { Ok::<u64, LoadError>(7) }).await.unwrap(), 7);
    assert_eq!(last().run(|| async { Ok::<u64, LoadError>(8) }).await.unwrap(), 7);
}

/// Services whose namespaces begin alike share no rows.
pub async fn p22_namespaces_are_apart(harness: &dyn Harness) {
    let in_space = |space: &'static str| harness.process_with(move |builder| builder.namespace(space));
    let (shop, eu) = (in_space("shop"), in_space("shop:eu"));
    let (one, two) = (Source::quick(), Source::quick());
    two.set(2);
    assert_eq!(shop.call_key("eu:x:y", plain(), &one).await.unwrap(), 1);
    if shop.flights.backend().medium() == Medium::Bytes {
        assert_eq!(eu.call_key("x:y", plain(), &two).await.unwrap(), 2);
        assert_eq!(shop.call_key("eu:x:y", plain(), &one).await.unwrap(), 1);
    }
}
