//! What only an annotated function has: a default.

use std::sync::Arc;

use singleflight_core::{SingleFlight, single_flight};

use crate::harness::{Harness, LEASE, Process, all, pass, within};
use crate::source::{LoadError, Source};

#[single_flight(
    key = "row:1",
    ttl = 60,
    soft_ttl = 10,
    lock_ttl_ms = 6000,
    losers = "default",
    default = 0,
    flights = flights,
    skip(flights, source)
)]
async fn defaulting(flights: &SingleFlight, source: &Source) -> Result<u64, LoadError> {
    source.load().await
}

fn call(process: &Process, source: &Arc<Source>) -> tokio::task::JoinHandle<Result<u64, LoadError>> {
    let (flights, source) = (process.flights.clone(), source.clone());
    tokio::spawn(async move { defaulting(&flights, &source).await })
}

/// `losers = "default"`: the default at once, for followers and for those who find the lease held elsewhere.
pub async fn p14_losers_with_a_default_take_it_at_once(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = call(&a, &source);
    source.began().await;
    for process in [&a, &b] {
        for loser in (0..5).map(|_| call(process, &source)) {
            assert_eq!(within(LEASE / 4, loser).await.unwrap().unwrap(), 0);
        }
        assert_eq!(process.flights.statistics().total.defaults, 5);
    }
    source.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
    let hits = [&a, &b].map(|process| call(process, &source)).into();
    all(hits).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
}

/// A stale copy wins over the default.
pub async fn p18_losers_with_a_default_take_a_stale_copy(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (quick, slow) = (Source::quick(), Source::gated());
    defaulting(&a.flights, &quick).await.unwrap();
    pass(11 * LEASE).await;
    let refresh = call(&a, &slow);
    slow.began().await;
    for process in [&a, &b] {
        assert_eq!(within(LEASE / 4, call(process, &slow)).await.unwrap().unwrap(), 1);
    }
    slow.let_through(1);
    refresh.await.unwrap().unwrap();
}

/// A default is never stored, and a failed load is not answered with it.
pub async fn p15_a_default_is_no_value(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = call(&a, &source);
    source.began().await;
    assert_eq!(call(&b, &source).await.unwrap().unwrap(), 0);
    source.fail(true);
    source.let_through(1);
    assert!(leader.await.unwrap().is_err());
    harness.freed().await;
    source.fail(false);
    source.let_through(1);
    assert_eq!(call(&b, &source).await.unwrap().unwrap(), 1);
}
