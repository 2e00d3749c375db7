//! What users of systems like this one have met across processes, one function for each case.

use std::sync::Arc;

use singleflight_core::{FlightErrorKind, OnTimeout, SingleFlight, invalidates, single_flight};
use tokio::task::JoinHandle;

use super::spawned_faults::{Call, nobody_sees_it_later};
use super::{failures, leases, spawned};
use crate::harness::{Harness, LEASE, Process, all, pass, plain, settle, soft, within};
use crate::source::{LoadError, Source};

/// Fifty callers in two processes, and a load that fails while they wait: one load, whose failure everyone has at once.
/// With a cool-down there is no second load within it, on the other process neither. *quick_cache, hitbox, dogpile*.
pub async fn case_08_a_failed_load_answers_fifty_callers(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    source.fail(true);
    for (loads, policy) in [(1, plain()), (2, plain().error_cooldown(9 * LEASE))] {
        let mut callers = a.spawn_many(25, policy, &source);
        callers.extend(b.spawn_many(25, policy, &source));
        source.began().await;
        settle().await;
        source.let_through(1);
        for caller in callers {
            within(LEASE / 2, caller).await.unwrap().unwrap_err();
        }
        assert_eq!(source.loads(), loads);
    }
    for _ in 0..4 {
        for process in [&a, &b] {
            within(LEASE / 4, process.call(plain(), &source)).await.unwrap_err();
        }
        pass(LEASE).await;
    }
    assert_eq!(source.loads(), 2, "nobody loads while it cools down");
    pass(6 * LEASE).await;
    source.fail(false);
    source.let_through(1);
    assert_eq!(b.call(plain(), &source).await.unwrap(), 1);
}

/// The leader is dropped in the middle of its load: one takeover, and nobody hangs. *moka #240, #59*.
pub async fn case_09_a_leader_is_dropped_in_the_middle(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let mut others = a.spawn_many(5, plain(), &source);
    others.extend(b.spawn_many(5, plain(), &source));
    settle().await;
    leader.abort();
    within(LEASE / 4, source.began()).await;
    source.let_through(1);
    all(others).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!((source.loads(), source.most()), (2, 1));
    assert_eq!(a.flights.statistics().total.takeovers + b.flights.statistics().total.takeovers, 1);
    harness.freed().await;
    assert_eq!((a.flights.in_progress(), b.flights.in_progress()), (0, 0));
}

/// A result that can carry no error of ours.
#[single_flight(key = "row:1", ttl = 60, lock_ttl_ms = 6000, flights = flights, skip(flights, source))]
async fn wordless(flights: &SingleFlight, source: &Source) -> u64 {
    source.load().await.unwrap()
}

fn call_wordless(process: &Process, source: &Arc<Source>) -> JoinHandle<u64> {
    let (flights, source) = (process.flights.clone(), source.clone());
    tokio::spawn(async move { wordless(&flights, &source).await })
}

/// The load panics: those who wait get an error where their type can carry one, else one takes over. Later calls work,
/// and the lease is free. *moka #43, hitbox*.
pub async fn case_10_the_load_panics(harness: &dyn Harness) {
    super::leaders::p17_a_panic_is_the_leaders_and_an_error_for_the_others(harness).await;
    let (a, b) = (harness.process(), harness.process());
    a.invalidate().await;
    let source = Source::gated();
    let leader = call_wordless(&a, &source);
    source.began().await;
    let others = [&a, &a, &a, &b, &b].map(|process| call_wordless(process, &source)).into();
    settle().await;
    source.panic(true);
    source.let_through(1);
    assert!(within(LEASE / 2, leader).await.unwrap_err().is_panic());
    within(LEASE / 2, source.began()).await;
    source.panic(false);
    source.let_through(1);
    all(others).await.into_iter().for_each(|value| assert_eq!(value, 1));
    assert_eq!((source.loads(), source.most()), (2, 1), "one takes over");
    harness.freed().await;
    assert_eq!((a.flights.in_progress(), b.flights.in_progress()), (0, 0));
}

/// A write, as it is annotated.
#[invalidates(key = "row:1", flights = flights)]
async fn save(flights: &SingleFlight, row: &Source, value: u64) {
    row.set(value);
}

/// A load begins, the row is changed and its key invalidated, the load ends: the next read never sees the old row.
/// *guava #1881, foyer, moka*.
pub async fn case_12_a_load_begun_before_a_write_is_not_seen_after_it(harness: &dyn Harness) {
    for remote in [false, true] {
        let (a, b) = (harness.process(), harness.process());
        let row = Source::gated();
        let late = a.spawn(plain(), &row);
        row.began().await;
        save(if remote { &b.flights } else { &a.flights }, &row, 2).await;
        row.let_through(1);
        assert_eq!(within(LEASE, late).await.unwrap().unwrap(), 1, "who called before may have the old row");
        row.let_through(1);
        for process in [&a, &b] {
            assert_eq!(within(LEASE, process.call(plain(), &row)).await.unwrap(), 2);
        }
        assert_eq!(row.loads(), 2);
        a.invalidate().await;
    }
}

#[single_flight(key = "plain:<id>", ttl = 60, flights = flights, skip(flights, source))]
async fn maybe(flights: &SingleFlight, source: &Source, id: u64) -> Option<u64> {
    (source.load().await.unwrap() < id).then_some(id)
}

#[single_flight(
    key = "negative:<id>",
    ttl = 60,
    negative_ttl = 5,
    lock_ttl_ms = 30_000,
    flights = flights,
    skip(flights, source)
)]
async fn negative(flights: &SingleFlight, source: &Source, id: u64) -> Result<Option<u64>, LoadError> {
    Ok((source.load().await? < id).then_some(id))
}

/// `None` is a value, also after it was stored as bytes, and may have a TTL of its own. *moka #184*.
pub async fn case_16_none_is_a_value_with_a_ttl_of_its_own(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (first, second) = (Source::quick(), Source::quick());
    let read_all = async |process: &Process| {
        for id in [1, 2] {
            let row = (id > 1).then_some(id);
            assert_eq!(maybe(&process.flights, &first, id).await, row);
            assert_eq!(negative(&process.flights, &second, id).await.unwrap(), row);
        }
    };
    for process in [&a, &a, &b, &b] {
        read_all(process).await;
    }
    assert_eq!((first.loads(), second.loads()), (2, 2), "no `None` was taken for a miss");
    pass(6 * LEASE).await;
    read_all(&a).await;
    read_all(&b).await;
    assert_eq!((first.loads(), second.loads()), (2, 3), "`Ok(None)` alone has expired");
}

/// A load that read the first version blocks, the second one is written and the key invalidated, another caller comes,
/// the first load ends. The other caller loads the second version, and that is what is stored; the same where the load
/// is a refresh, in place or in the background. *FusionCache #625, #628*.
pub async fn case_22_an_older_version_never_comes_back(harness: &dyn Harness) {
    let in_place: Call = |process, source| process.spawn(soft(), source);
    for (call, stale) in [(in_place, false), (in_place, true), (spawned::call, true)] {
        for remote in [false, true] {
            let (a, b) = (harness.process(), harness.process());
            if stale {
                call(&a, &Source::quick()).await.unwrap().unwrap();
                pass(11 * LEASE).await;
            }
            let first_version = Source::gated();
            let late = call(&a, &first_version);
            first_version.began().await;
            nobody_sees_it_later(call, (&a, &b), if remote { &b } else { &a }, &first_version).await;
            assert_eq!(within(LEASE, late).await.unwrap().unwrap(), 1);
        }
    }
}

fn never(_: &u64) -> bool {
    false
}

#[single_flight(
    key = "row:1",
    ttl = 60,
    lock_ttl_ms = 30_000,
    cache_if = never,
    flights = flights,
    skip(flights, source)
)]
async fn unkept(flights: &SingleFlight, source: &Source) -> Result<u64, LoadError> {
    source.load().await
}

/// The value is not to be kept, or cannot be encoded, or the store refuses the write: its callers have it, and the lease
/// is gone at once. *FusionCache #644, #646*.
pub async fn case_23_a_value_that_is_not_stored_frees_the_lease(harness: &dyn Harness) {
    leases::p08_a_value_that_cannot_be_encoded_frees_the_lease(harness).await;
    leases::p08_a_write_that_is_refused_frees_the_lease(harness).await;

    let (a, b) = (harness.process(), harness.process());
    a.invalidate().await;
    let source = Source::gated();
    let call = |process: &Process| {
        let (flights, source) = (process.flights.clone(), source.clone());
        tokio::spawn(async move { unkept(&flights, &source).await })
    };
    let here = vec![call(&a), call(&a), call(&a)];
    source.began().await;
    let there = call(&b);
    settle().await;
    source.let_through(1);
    all(here).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    // Nothing was stored, so the other process loads, and need not wait for the lease to end.
    within(LEASE, source.began()).await;
    source.let_through(1);
    assert_eq!(within(LEASE, there).await.unwrap().unwrap(), 1);
    harness.freed().await;
    source.let_through(1);
    assert_eq!(within(LEASE, call(&a)).await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 3);
}

/// A load that never returns: callers get what their time-out says, after `max_hold` the key can be used again, and what
/// the old load gives in the end is refused. *dialogporten #4252*.
pub async fn case_24_a_load_that_never_returns(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().max_hold(8 * LEASE).wait(2 * LEASE).on_timeout(OnTimeout::Fail);
    let (hung, source) = (Source::gated(), Source::quick());
    source.set(2);
    let zombie = a.spawn(policy, &hung);
    hung.began().await;
    let mut callers = a.spawn_many(5, policy, &source);
    callers.extend(b.spawn_many(5, policy, &source));
    for caller in callers {
        let error = within(3 * LEASE, caller).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), Some(FlightErrorKind::TimedOut));
    }
    pass(7 * LEASE).await;
    for process in [&b, &a] {
        assert_eq!(within(LEASE / 2, process.call(policy, &source)).await.unwrap(), 2);
    }
    hung.let_through(1);
    assert_eq!(within(LEASE, zombie).await.unwrap().unwrap(), 1, "its own caller is answered");
    for process in [&b, &a] {
        assert_eq!(process.call(policy, &source).await.unwrap(), 2);
    }
    assert_eq!((source.loads(), a.flights.statistics().total.fenced), (1, 1));
    harness.freed().await;
}

/// A load fails, or finds nothing, and others wait in other processes: they are told at once, long before the lease
/// would end. *Redis docs sample*.
pub async fn case_26_waiters_elsewhere_are_told_at_once(harness: &dyn Harness) {
    let processes = [(); 3].map(|()| harness.process());
    let source = Source::gated();
    let call = |process: &Process| {
        let (flights, source) = (process.flights.clone(), source.clone());
        tokio::spawn(async move { negative(&flights, &source, 1).await })
    };
    for fails in [true, false] {
        let leader = call(&processes[0]);
        source.began().await;
        let waiting: Vec<_> =
            processes[1..].iter().flat_map(|process| [call(process), call(process)]).collect();
        settle().await;
        source.fail(fails);
        source.let_through(1);
        assert_eq!(leader.await.unwrap().is_err(), fails);
        for waiter in waiting {
            match within(LEASE, waiter).await.unwrap() {
                Ok(found) => assert!(!fails && found.is_none()),
                Err(error) => assert!(fails && error.kind() == Some(FlightErrorKind::LoadFailed), "{error}"),
            }
        }
    }
    assert_eq!(source.loads(), 2);
}

/// A failing load with arrivals every 50 ms for a second: never two loads of a key at once. *bentocache*.
pub async fn case_27_a_failing_load_is_never_two_at_once(harness: &dyn Harness) {
    failures::p15_a_failing_load_is_never_two_at_once(harness).await;
}
