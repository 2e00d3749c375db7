//! P15: loads that fail.

use std::fmt;
use std::time::Duration;

use singleflight_core::{FlightError, FlightErrorKind};

use tokio::time::Instant;

use crate::harness::{
    GRAIN, HELD, Harness, KEY, LEASE, Process, all, pass, plain, settle, soft, unhurried, within,
};
use crate::source::{LoadError, Source};

/// One load; its error for everyone who waits, by clone here and with its message elsewhere. *quick_cache, hitbox*.
pub async fn p15_one_failed_fill_answers_everyone(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let (here, there) = (a.spawn_many(50, plain(), &source), b.spawn_many(50, plain(), &source));
    settle().await;
    source.fail(true);
    source.let_through(1);
    assert!(matches!(within(LEASE, leader).await.unwrap(), Err(LoadError::NoRow)));
    for result in all(here).await {
        assert!(matches!(result, Err(LoadError::NoRow)), "a clone: {result:?}");
    }
    for result in all(there).await {
        let Err(LoadError::Flight(error)) = result else { panic!("{result:?}") };
        assert_eq!((error.kind(), error.message()), (FlightErrorKind::LoadFailed, Some("no such row")));
    }
    assert_eq!(source.loads(), 1);
    source.fail(false);
    source.let_through(1);
    assert_eq!(within(LEASE, b.call(plain(), &source)).await.unwrap(), 1, "and is not kept");
    assert_eq!(a.flights.statistics().total.failures_shared, 50);
}

/// An error that cannot be cloned.
#[derive(Debug)]
pub struct Opaque(String);

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<FlightError> for Opaque {
    fn from(error: FlightError) -> Self {
        Self(format!("flight: {}", error.message().unwrap_or("?")))
    }
}

/// Where the error is not `Clone`, its message reaches the others: *moka #328*.
pub async fn p15_an_error_that_cannot_be_cloned_arrives_as_its_message(harness: &dyn Harness) {
    let a = harness.process();
    let source = Source::gated();
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (flights, source) = (a.flights.clone(), source.clone());
            tokio::spawn(async move {
                let load = || async { source.load().await.map_err(|error| Opaque(error.to_string())) };
                flights.flight(KEY).policy(plain()).run(load).await
            })
        })
        .collect();
    source.began().await;
    settle().await;
    source.fail(true);
    source.let_through(1);
    let mut messages: Vec<_> = all(calls).await.into_iter().map(|result| result.unwrap_err().0).collect();
    messages.sort();
    assert_eq!(messages.pop().unwrap(), "no such row", "the leader's own");
    messages.into_iter().for_each(|message| assert_eq!(message, "flight: no such row"));
    assert_eq!(source.loads(), 1);
}

/// A message of any length arrives cut to a bound, on a character.
pub async fn p15_a_long_message_is_cut(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let call = |process: &Process| {
        let (flights, source) = (process.flights.clone(), source.clone());
        tokio::spawn(async move {
            let load = || async {
                let _ = source.load().await;
                Err::<u64, _>(Opaque("ü".repeat(2000)))
            };
            flights.flight(KEY).policy(plain()).run(load).await
        })
    };
    let leader = call(&a);
    source.began().await;
    let others = [call(&a), call(&b)];
    settle().await;
    source.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap_err().0.chars().count(), 2000);
    for other in others {
        let message = within(LEASE, other).await.unwrap().unwrap_err().0;
        assert_eq!(message, format!("flight: {}", "ü".repeat(512)));
    }
}

/// `errors = "retry"`: each tries in turn, never two at once.
pub async fn p15_with_retry_each_tries_in_turn(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().retry_errors(true);
    let source = Source::slow(LEASE / 10);
    source.fail(true);
    let mut calls = a.spawn_many(5, policy, &source);
    calls.extend(b.spawn_many(5, policy, &source));
    for result in all(calls).await {
        assert!(matches!(result, Err(LoadError::NoRow)), "its own: {result:?}");
    }
    assert_eq!((source.loads(), source.most()), (10, 1));
}

/// A failing load with arrivals all the time: *bentocache*. Never two at once.
pub async fn p15_a_failing_load_is_never_two_at_once(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::slow(Duration::from_millis(130));
    source.fail(true);
    let began = Instant::now();
    let mut calls = Vec::new();
    for _ in 0..20 {
        calls.extend([a.spawn(plain(), &source), b.spawn(plain(), &source)]);
        pass(Duration::from_millis(50)).await;
    }
    all(calls).await.into_iter().for_each(|result| assert!(result.is_err()));
    assert_eq!(source.most(), 1);
    let one_after_the_other = began.elapsed().as_millis() / 130;
    assert!(source.loads() as u128 <= one_after_the_other, "{} in {:?}", source.loads(), began.elapsed());
}

/// A refresh that fails leaves the copy, gives it to its own caller too, and is not repeated for one lease TTL.
pub async fn p15_a_failed_refresh_keeps_the_stale_copy(harness: &dyn Harness) {
    failed_refresh(harness, soft()).await;
}

/// The same with `errors = "retry"`: there is a copy, so nobody needs to try.
pub async fn p15_a_failed_refresh_keeps_the_stale_copy_with_retry_too(harness: &dyn Harness) {
    failed_refresh(harness, soft().retry_errors(true)).await;
}

async fn failed_refresh(harness: &dyn Harness, policy: singleflight_core::Policy) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.call(policy, &source).await.unwrap();
    pass(11 * LEASE).await;
    source.fail(true);
    let tried = Instant::now();
    assert_eq!(a.call(policy, &source).await.unwrap(), 1, "the refresher's own caller");
    assert_eq!(a.flights.statistics().total.stale, 1, "it is counted as one with a stale copy");
    assert_eq!(source.loads(), 2);
    while source.loads() == 2 {
        for process in [&a, &b] {
            assert_eq!(process.call(policy, &source).await.unwrap(), 1);
        }
        pass(LEASE / 10).await;
        assert!(tried.elapsed() < 20 * LEASE, "it is tried again");
    }
    assert!(source.load_times()[2] - tried >= HELD - GRAIN, "not repeated for one lease TTL");
    pass(HELD + LEASE).await;
    source.fail(false);
    source.set(2);
    assert_eq!(b.call(policy, &source).await.unwrap(), 2, "then it is");
}

/// A panic during a refresh leaves the copy as well.
pub async fn p15_a_panic_in_a_refresh_keeps_the_stale_copy(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (policy, source) = (unhurried(soft()), Source::quick());
    a.call(policy, &source).await.unwrap();
    pass(11 * LEASE).await;
    source.panic(true);
    assert!(a.spawn(policy, &source).await.unwrap_err().is_panic());
    harness.freed().await;
    source.panic(false);
    source.set(2);
    for process in [&a, &b] {
        assert_eq!(process.call(policy, &source).await.unwrap(), 1, "the copy, for one lease TTL");
    }
}

/// `error_cooldown`: new arrivals share the failure, in every process, and not for longer.
pub async fn p15_a_cooldown_is_shared_by_the_fleet(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().error_cooldown(9 * LEASE);
    let source = Source::quick();
    source.fail(true);
    assert!(matches!(a.call(policy, &source).await, Err(LoadError::NoRow)));
    harness.freed().await;
    for _ in 0..4 {
        // The process that failed has the error itself, the others its message.
        assert!(matches!(a.call(policy, &source).await, Err(LoadError::NoRow)));
        let Err(LoadError::Flight(error)) = b.call(policy, &source).await else {
            panic!("a cool-down is shared")
        };
        assert_eq!((error.kind(), error.message()), (FlightErrorKind::CoolingDown, Some("no such row")));
        pass(LEASE).await;
    }
    assert_eq!(source.loads(), 1);
    pass(6 * LEASE).await;
    source.fail(false);
    assert_eq!(b.call(policy, &source).await.unwrap(), 1);
    assert_eq!(a.flights.statistics().total.cooldown_answers, 4);
}

/// An invalidation ends the cool-down.
pub async fn p15_an_invalidation_ends_the_cooldown(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().error_cooldown(5 * LEASE);
    let source = Source::quick();
    source.fail(true);
    a.call(policy, &source).await.unwrap_err();
    harness.freed().await;
    b.invalidate().await;
    source.fail(false);
    assert_eq!(a.call(policy, &source).await.unwrap(), 1);
}

/// The leader of a load goes away without an outcome; nobody takes that for a failure. *Redis docs sample*.
pub async fn p15_a_cancel_is_no_failure(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let there = b.spawn_many(5, plain(), &source);
    settle().await;
    leader.abort();
    within(LEASE / 2, source.began()).await;
    source.let_through(1);
    all(there).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 2);
}
