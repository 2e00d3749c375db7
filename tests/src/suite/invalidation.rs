//! P5, P6: nobody who comes after an invalidation sees what was loaded before.

use std::sync::Arc;

use singleflight_core::testing::{Method, Moment};
use tokio::task::JoinHandle;

use super::leases::Unwritable;
use crate::harness::{Harness, KEY, LEASE, Process, all, leased, pass, plain, settle, soft, within};
use crate::source::{LoadError, Source};
use singleflight_core::testing::Gate;

/// A load that read 1 is under way; the row becomes 2; `by` invalidates. Whoever comes afterwards, in either process,
/// gets 2, before and after the first load ends.
async fn invalidated_in_flight(a: &Process, b: &Process, by: &Process) {
    let lease = 3 * LEASE;
    let policy = leased(plain(), lease);
    let (old, new) = (Source::gated(), Source::quick());
    let mut early = vec![a.spawn(policy, &old)];
    old.began().await;
    // Waiting before the invalidation: they may get either.
    early.push(a.spawn(policy, &new));
    early.push(b.spawn(policy, &new));
    settle().await;
    new.set(2);
    old.set(2);
    by.invalidate().await;
    let call = within(LEASE, by.call(policy, &new));
    assert_eq!(call.await.unwrap(), 2, "where it was invalidated");
    for process in [a, b] {
        let call = within(lease, process.call(policy, &new));
        assert_eq!(call.await.unwrap(), 2, "before the old load ends");
    }
    old.let_through(1);
    for result in all(early).await {
        assert!((1..=2).contains(&result.unwrap()));
    }
    for process in [a, b] {
        assert_eq!(process.call(policy, &new).await.unwrap(), 2, "after the old load ended");
    }
}

/// Invalidated in the process that loads: *FusionCache #625*.
pub async fn p05_a_load_begun_before_is_never_seen_after(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    invalidated_in_flight(&a, &b, &a).await;
}

/// Invalidated in another process.
pub async fn p05_a_load_begun_before_is_never_seen_after_elsewhere(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    invalidated_in_flight(&a, &b, &b).await;
}

/// Invalidated in a process that has nothing to do with it.
pub async fn p05_a_bystander_may_invalidate(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    invalidated_in_flight(&a, &b, &harness.process()).await;
}

/// Nothing but the late load: its value does not get into the store. *guava #1881*.
pub async fn p05_a_late_load_is_not_stored(harness: &dyn Harness) {
    for remote in [false, true] {
        let (a, b) = (harness.process(), harness.process());
        let source = Source::gated();
        let old = a.spawn(plain(), &source);
        source.began().await;
        source.set(2);
        if remote {
            b.invalidate().await
        } else {
            a.invalidate().await
        }
        source.let_through(2);
        assert_eq!(within(LEASE, old).await.unwrap().unwrap(), 1, "its own caller came before");
        assert_eq!(b.call(plain(), &source).await.unwrap(), 2, "remote: {remote}");
        assert_eq!(a.call(plain(), &source).await.unwrap(), 2, "remote: {remote}");
        assert_eq!(source.loads(), 2);
        a.invalidate().await;
    }
}

/// The same for a refresh of a stale copy: *FusionCache #628*.
pub async fn p05_a_refresh_begun_before_is_never_seen_after(harness: &dyn Harness) {
    for remote in [false, true] {
        let (a, b) = (harness.process(), harness.process());
        let (source, quick) = (Source::gated(), Source::quick());
        a.call(soft(), &quick).await.unwrap();
        pass(11 * LEASE).await;
        let refresh = a.spawn(soft(), &source);
        source.began().await;
        assert_eq!(b.call(soft(), &quick).await.unwrap(), 1, "stale");
        quick.set(2);
        if remote {
            b.invalidate().await
        } else {
            a.invalidate().await
        }
        for process in [&a, &b] {
            assert_eq!(within(5 * LEASE, process.call(soft(), &quick)).await.unwrap(), 2, "remote: {remote}");
        }
        source.let_through(1);
        within(LEASE, refresh).await.unwrap().unwrap();
        for process in [&a, &b] {
            assert_eq!(process.call(soft(), &quick).await.unwrap(), 2, "remote: {remote}");
        }
        a.invalidate().await;
    }
}

/// A refresh that fails after an invalidation does not bring the stale copy back for anyone else.
pub async fn p05_a_stale_copy_does_not_survive_an_invalidation(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (source, quick) = (Source::gated(), Source::quick());
    a.call(soft(), &quick).await.unwrap();
    pass(11 * LEASE).await;
    let refresh = a.spawn(soft(), &source);
    source.began().await;
    b.invalidate().await;
    source.fail(true);
    source.let_through(1);
    let _ = within(LEASE, refresh).await.unwrap();
    quick.set(2);
    for process in [&a, &b] {
        assert_eq!(within(LEASE, process.call(soft(), &quick)).await.unwrap(), 2);
    }
}

/// A question whose answer was lost is asked again after an invalidation: what is loaded then is newer.
pub async fn p05_a_question_asked_again_is_not_for_an_older_load(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    let gate = a.way.on(Method::Acquire).at(Moment::After).hold();
    let first = a.spawn(plain(), &source);
    gate.reached().await;
    let next = a.spawn(plain(), &source);
    settle().await;
    source.set(2);
    b.invalidate().await;
    first.abort();
    let _ = first.await;
    assert_eq!(source.loads(), 0, "no body begins before its lease is known to be granted");
    drop(gate);
    assert_eq!(within(LEASE, next).await.unwrap().unwrap(), 2);
    for process in [&a, &b] {
        assert_eq!(process.call(plain(), &source).await.unwrap(), 2);
    }
}

/// A question is heard late: when whoever asked has gone, another has asked and loads, and what it loads has been
/// invalidated. It must not give that load its lease back.
pub async fn p05_a_question_heard_late_does_not_bring_an_older_load_back(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (policy, source) = (leased(plain(), LEASE), Source::gated());
    let late = a.way.hold_question();
    let first = a.spawn(policy, &source);
    late.reached().await;
    let next = a.spawn(policy, &source);
    settle().await;
    first.abort();
    source.began().await;
    source.set(2);
    b.invalidate().await;
    drop(late);
    settle().await;
    source.let_through(3);
    assert_eq!(within(LEASE, next).await.unwrap().unwrap(), 1, "its own caller came before");
    for process in [&b, &a] {
        assert_eq!(within(3 * LEASE, process.call(policy, &source)).await.unwrap(), 2);
    }
}

/// In its own process, who comes after an invalidation does not even wait for the older load.
pub async fn p06_newcomers_do_not_join_the_older_flight(harness: &dyn Harness) {
    let a = harness.process();
    let (old, new) = (Source::gated(), Source::gated());
    let first = a.spawn(plain(), &old);
    old.began().await;
    a.invalidate().await;
    new.set(2);
    let later = a.spawn_many(5, plain(), &new);
    within(LEASE, new.began()).await;
    settle().await;
    new.let_through(1);
    all(later).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
    assert_eq!(new.loads(), 1, "they do share one load of their own");
    old.let_through(1);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    assert_eq!(a.flights.in_progress(), 0);
}

/// A load that began while the invalidation was under way is an older one too.
pub async fn p06_newcomers_do_not_join_a_flight_begun_meanwhile(harness: &dyn Harness) {
    let a = harness.process();
    let (old, new) = (Source::gated(), Source::quick());
    let gate = a.way.on(Method::Invalidate).hold();
    let flights = a.flights.clone();
    let invalidation = tokio::spawn(async move { flights.invalidate(KEY).await });
    gate.reached().await;
    let first = a.spawn(plain(), &old);
    old.began().await;
    drop(gate);
    invalidation.await.unwrap().unwrap();
    new.set(2);
    assert_eq!(within(LEASE / 4, a.call(plain(), &new)).await.unwrap(), 2);
    old.let_through(1);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    assert_eq!(a.call(plain(), &new).await.unwrap(), 2);
}

/// When a publish is refused, those who waited look again.
pub async fn p06_followers_of_a_refused_publish_look_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let mut calls = vec![a.spawn(plain(), &source)];
    source.began().await;
    b.invalidate().await;
    source.set(2);
    // They cannot know that it was invalidated, and join the older flight.
    calls.extend(a.spawn_many(5, plain(), &source));
    settle().await;
    source.let_through(2);
    let values: Vec<_> = all(calls).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(values, [1, 2, 2, 2, 2, 2]);
    assert_eq!(source.loads(), 2);
}

/// While the first call's answer stands at the gate another process invalidates, and only then someone joins.
async fn who_joins_now_looks_again(
    (a, b): (&Process, &Process),
    gate: Gate,
    first: JoinHandle<Result<u64, LoadError>>,
    source: &Arc<Source>,
) {
    b.invalidate().await;
    source.set(2);
    let late = a.spawn(plain(), source);
    settle().await;
    drop(gate);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    assert_eq!(within(LEASE, late).await.unwrap().unwrap(), 2);
}

/// The value is stored, the answer is under way, another process invalidates, and only then someone joins.
pub async fn p06_who_joins_between_a_publish_and_its_answer_looks_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    let gate = a.way.on(Method::Publish).at(Moment::After).hold();
    let first = a.spawn(plain(), &source);
    gate.reached().await;
    who_joins_now_looks_again((&a, &b), gate, first, &source).await;
}

/// The same where the value is not stored and only the lease is given back.
pub async fn p06_who_joins_between_a_release_and_its_answer_looks_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    let gate = a.way.on(Method::Abandon).at(Moment::After).hold();
    let call = || {
        let (flights, source) = (a.flights.clone(), source.clone());
        tokio::spawn(async move {
            let load = || async { source.load().await.map(Unwritable) };
            flights.flight(KEY).policy(plain()).run_sharing(load).await
        })
    };
    let first = call();
    if a.way.inner().medium() != singleflight_core::backend::Medium::Bytes {
        assert_eq!(first.await.unwrap().unwrap(), Unwritable(1), "kept as it is");
        return;
    }
    gate.reached().await;
    b.invalidate().await;
    source.set(2);
    let late = call();
    settle().await;
    drop(gate);
    assert_eq!(first.await.unwrap().unwrap(), Unwritable(1));
    assert_eq!(within(LEASE, late).await.unwrap().unwrap(), Unwritable(2));
}

/// The store refused the write; who came after the question looks again.
pub async fn p06_who_joins_between_a_failed_publish_and_its_answer_looks_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.way
        .on(Method::Publish)
        .at(Moment::After)
        .times(1)
        .fail(singleflight_core::error::BackendErrorKind::Refused);
    let gate = a.way.on(Method::Publish).at(Moment::After).hold();
    let first = a.spawn(plain(), &source);
    gate.reached().await;
    who_joins_now_looks_again((&a, &b), gate, first, &source).await;
}

/// What a look-up found is only for those who came before it.
pub async fn p06_who_joins_between_a_look_and_its_answer_looks_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    b.call(plain(), &source).await.unwrap();
    let gate = a.way.on(Method::Read).at(Moment::After).hold();
    let first = a.spawn(plain(), &source);
    settle().await;
    who_joins_now_looks_again((&a, &b), gate, first, &source).await;
}

/// Without the lease nothing tells a load that it was invalidated elsewhere: it is for those who called before it.
pub async fn p05_a_load_without_the_lease_is_for_those_who_called_before_it(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().wait(LEASE / 20);
    let (held, overdue) = (Source::gated(), Source::gated());
    let leader = a.spawn(policy, &held);
    held.began().await;
    let before = b.spawn(policy, &overdue);
    overdue.began().await;
    overdue.set(2);
    a.invalidate().await;
    let again = a.spawn(policy, &held);
    held.began().await;
    let late = b.spawn(policy, &overdue);
    pass(LEASE).await;
    overdue.let_through(2);
    assert_eq!(before.await.unwrap().unwrap(), 1);
    assert_eq!(within(LEASE, late).await.unwrap().unwrap(), 2);
    held.let_through(2);
    leader.await.unwrap().unwrap();
    again.await.unwrap().unwrap();
}
