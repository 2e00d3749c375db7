//! P4, P7, P8, P10: what becomes of a lease.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use singleflight_core::error::BackendErrorKind;
use singleflight_core::testing::{Method, Moment};

use crate::harness::{Harness, KEY, LEASE, all, leased, pass, plain, settle, within};
use crate::source::{LoadError, Source};

/// Nobody else asks for it, but the lease is over: its load stores nothing.
pub async fn p04_a_load_that_outlives_its_lease_stores_nothing(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::gated());
    let stuck = process.way.on(Method::Renew).hold();
    let old = process.spawn(leased(plain(), LEASE), &source);
    source.began().await;
    stuck.reached().await;
    pass(3 * LEASE).await;
    source.let_through(1);
    assert_eq!(within(LEASE, old).await.unwrap().unwrap(), 1, "the leader's own caller is answered");
    drop(stuck);
    source.set(2);
    source.let_through(1);
    assert_eq!(process.call(plain(), &source).await.unwrap(), 2, "nothing was stored");
    assert_eq!(process.flights.statistics().total.fenced, 1);
}

/// A load whose lease went to someone else fails: its caller gets the error, the new lease stays.
pub async fn p07_an_unowned_release_is_no_error_and_frees_nothing(harness: &dyn Harness) {
    let (a, b, c) = (harness.process(), harness.process(), harness.process());
    let (old, new) = (Source::gated(), Source::gated());
    let stuck = a.way.on(Method::Renew).hold();
    let first = a.spawn(leased(plain(), LEASE), &old);
    old.began().await;
    stuck.reached().await;
    pass(2 * LEASE).await;
    let second = b.spawn(plain(), &new);
    new.began().await;
    old.fail(true);
    old.let_through(1);
    assert!(matches!(within(LEASE, first).await.unwrap(), Err(LoadError::NoRow)));
    let third = c.spawn(plain(), &new);
    pass(2 * LEASE).await;
    new.let_through(1);
    all(vec![second, third]).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(new.loads(), 1, "the second lease was left alone");
}

/// Released by its token although it is late: *aiocache PR #235*.
pub async fn p07_a_late_publish_leaves_the_new_lease_alone(harness: &dyn Harness) {
    let (a, b, c) = (harness.process(), harness.process(), harness.process());
    let (old, new) = (Source::gated(), Source::gated());
    new.set(2);
    let stuck = a.way.on(Method::Renew).hold();
    let first = a.spawn(leased(plain(), LEASE), &old);
    old.began().await;
    stuck.reached().await;
    pass(2 * LEASE).await;
    let second = b.spawn(plain(), &new);
    new.began().await;
    old.let_through(1);
    assert_eq!(within(LEASE, first).await.unwrap().unwrap(), 1);
    let third = c.spawn(plain(), &new);
    settle().await;
    new.let_through(1);
    all(vec![second, third]).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
    assert_eq!(new.loads(), 1, "neither the late write nor its release let a third one in");
}

/// Freed after a value.
pub async fn p08_a_value_frees_the_lease(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    process.call(plain(), &source).await.unwrap();
    harness.freed().await;
}

/// Freed after an error, at once: *Redis docs sample*.
pub async fn p08_an_error_frees_the_lease(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    source.fail(true);
    process.call(plain(), &source).await.unwrap_err();
    harness.freed().await;
    source.fail(false);
    let fresh = harness.process();
    let other = fresh.call(plain(), &source);
    assert_eq!(within(LEASE / 2, other).await.unwrap(), 1, "another process need not wait");
}

/// Freed after a panic.
pub async fn p08_a_panic_frees_the_lease(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    source.panic(true);
    assert!(process.spawn(plain(), &source).await.unwrap_err().is_panic());
    harness.freed().await;
}

/// Freed when the caller goes away.
pub async fn p08_a_cancel_frees_the_lease(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::gated());
    let call = process.spawn(plain(), &source);
    source.began().await;
    call.abort();
    let _ = call.await;
    harness.freed().await;
    source.let_through(1);
    let fresh = harness.process();
    let other = fresh.call(plain(), &source);
    assert_eq!(within(LEASE / 2, other).await.unwrap(), 1, "another process need not wait");
}

/// A value that bytes cannot hold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Unwritable(pub u64);

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("this one cannot be written"))
    }
}

/// Freed where the value cannot be written; everyone has it all the same.
pub async fn p08_a_value_that_cannot_be_encoded_frees_the_lease(harness: &dyn Harness) {
    let process = harness.process();
    let source = Source::gated();
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let (flights, source) = (process.flights.clone(), source.clone());
            tokio::spawn(async move {
                let load = || async { source.load().await.map(Unwritable) };
                flights.flight(KEY).policy(plain()).run_sharing(load).await
            })
        })
        .collect();
    source.began().await;
    settle().await;
    source.let_through(1);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), Unwritable(1)));
    harness.freed().await;
    assert_eq!(source.loads(), 1);
}

/// Freed where the store refuses the write: *FusionCache #646*.
pub async fn p08_a_write_that_is_refused_frees_the_lease(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::gated());
    process.way.on(Method::Publish).times(1).fail(BackendErrorKind::Refused);
    let calls = process.spawn_many(5, plain(), &source);
    source.began().await;
    settle().await;
    source.let_through(1);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    harness.freed().await;
    assert_eq!(source.loads(), 1);
}

/// The grant was made and nobody heard: it is given back by its token.
pub async fn p10_a_grant_that_nobody_heard_of_is_given_back(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    process.way.on(Method::Acquire).at(Moment::After).times(1).fail(BackendErrorKind::Timeout);
    assert_eq!(process.call(plain(), &source).await.unwrap(), 1);
    harness.freed().await;
    let fresh = harness.process();
    let other = fresh.call(plain(), &source);
    within(LEASE / 2, other).await.unwrap();
}

/// The same when the caller is gone before the answer.
pub async fn p10_a_question_that_is_dropped_leaves_no_lease(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    let gate = process.way.on(Method::Acquire).at(Moment::After).hold();
    let call = process.spawn(plain(), &source);
    gate.reached().await;
    assert_eq!(harness.leases().await, 1);
    call.abort();
    let _ = call.await;
    harness.freed().await;
    assert_eq!(source.loads(), 0);
    drop(gate);
}

/// A publish whose answer was lost is asked again, and recognised.
pub async fn p03_a_publish_whose_answer_was_lost_is_repeated(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    process.way.on(Method::Publish).at(Moment::After).times(1).fail(BackendErrorKind::Timeout);
    assert_eq!(process.call(plain(), &source).await.unwrap(), 1);
    harness.freed().await;
    assert_eq!(process.call(plain(), &source).await.unwrap(), 1);
    let other = harness.process();
    assert_eq!(within(Duration::from_millis(500), other.call(plain(), &source)).await.unwrap(), 1);
    assert_eq!(source.loads(), 1);
    assert_eq!(process.flights.statistics().total.fenced, 0);
}

/// Where the backend is out of reach, its caller does not wait for a second step that is to fail as well.
pub async fn p26_a_publish_in_vain_is_not_followed_by_another_step(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::quick());
    process.way.on(Method::Publish).times(1).fail(BackendErrorKind::Unavailable);
    assert_eq!(process.call(plain(), &source).await.unwrap(), 1);
    assert_eq!((process.way.calls()[Method::Publish], process.way.calls()[Method::Abandon]), (1, 0));
    assert_eq!(process.way.calls()[Method::Post], 1, "the lease is given back without waiting");
    harness.freed().await;
}

/// A publish that did not arrive is asked again, and stored.
pub async fn p03_a_publish_that_was_lost_is_repeated(harness: &dyn Harness) {
    let (process, other) = (harness.process(), harness.process());
    let source = Source::quick();
    process.way.on(Method::Publish).times(1).fail(BackendErrorKind::Timeout);
    assert_eq!(process.call(plain(), &source).await.unwrap(), 1);
    assert_eq!(other.call(plain(), &source).await.unwrap(), 1);
    assert_eq!(source.loads(), 1);
}
