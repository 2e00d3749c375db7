//! P19: the wait budget.

use std::time::Duration;

use singleflight_core::testing::Method;
use singleflight_core::{FlightErrorKind, Losers, OnTimeout};

use crate::harness::{Harness, LEASE, all, pass, plain, settle, soft, unhurried, within};
use crate::source::Source;

/// Budgets run out together in two processes: one load in each, not one per caller.
pub async fn p19_waiters_do_not_become_loaders_together(harness: &dyn Harness) {
    budget(harness, 2 * LEASE).await;
}

/// The same where the load takes many times the budget.
pub async fn p19_a_short_budget_is_no_stampede_either(harness: &dyn Harness) {
    budget(harness, LEASE / 100).await;
}

/// And where nobody waits at all.
pub async fn p19_no_budget_is_no_stampede_either(harness: &dyn Harness) {
    budget(harness, Duration::ZERO).await;
}

async fn budget(harness: &dyn Harness, wait: Duration) {
    let (a, b, c) = (harness.process(), harness.process(), harness.process());
    let policy = plain().wait(wait);
    let hung = Source::gated();
    let (at_a, at_b) = (Source::gated(), Source::gated());
    let old = c.spawn(plain(), &hung);
    hung.began().await;
    let mut calls = a.spawn_many(50, policy, &at_a);
    calls.extend(b.spawn_many(50, policy, &at_b));
    within(wait + LEASE, async {
        at_a.began().await;
        at_b.began().await;
    })
    .await;
    // Latecomers wait for it too, but take the next: without a lease an invalidation between goes unheard.
    let late = a.spawn_many(20, policy, &at_a);
    pass(wait + 5 * LEASE).await;
    assert_eq!((at_a.loads(), at_b.loads()), (1, 1), "one degraded load per process at a time");
    at_a.set(2);
    for source in [&at_a, &at_b] {
        source.let_through(10);
    }
    for result in all(calls).await {
        assert!(matches!(result, Ok(1 | 2)), "{result:?}");
    }
    for result in all(late).await {
        assert_eq!(result.unwrap(), 2);
    }
    hung.set(3);
    hung.let_through(1);
    assert_eq!(old.await.unwrap().unwrap(), 1);
    // Those who call in the very moment in which the load begins may be older or younger than it: they take the next.
    assert!(at_a.loads() <= 3 && at_b.loads() <= 2, "{} and {} loads", at_a.loads(), at_b.loads());
    harness.freed().await;
    assert_eq!((a.flights.in_progress(), b.flights.in_progress()), (0, 0));
}

/// The default budget is longer than any live leader may take.
pub async fn p19_a_live_leader_never_causes_a_second_load(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (policy, source) = (plain().max_hold(30 * LEASE), Source::slow(29 * LEASE));
    let mut calls = a.spawn_many(10, policy, &source);
    calls.extend(b.spawn_many(10, policy, &source));
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
}

/// `on_timeout = "fail"`: an error, in time, and no load.
pub async fn p19_on_timeout_fail_fails(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().wait(2 * LEASE).on_timeout(OnTimeout::Fail);
    let source = Source::gated();
    let leader = a.spawn(policy, &source);
    source.began().await;
    let mut calls = a.spawn_many(10, policy, &source);
    calls.extend(b.spawn_many(10, policy, &source));
    for call in calls {
        let error = within(3 * LEASE, call).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), Some(FlightErrorKind::TimedOut));
    }
    source.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 1);
    assert_eq!(a.flights.statistics().total.timeouts, 10);
    assert_eq!(b.flights.statistics().total.timeouts, 10);
}

/// A stale copy wins over whatever the policy says.
pub async fn p19_a_stale_copy_wins_over_the_time_out(harness: &dyn Harness) {
    for on_timeout in [OnTimeout::Load, OnTimeout::Fail] {
        let (a, b) = (harness.process(), harness.process());
        let policy = soft().losers(Losers::Wait).wait(2 * LEASE).on_timeout(on_timeout);
        let (source, slow) = (Source::quick(), Source::gated());
        a.call(policy, &source).await.unwrap();
        pass(11 * LEASE).await;
        let refresh = a.spawn(policy, &slow);
        slow.began().await;
        let mut calls = a.spawn_many(5, policy, &slow);
        calls.extend(b.spawn_many(5, policy, &slow));
        for call in calls {
            assert_eq!(within(3 * LEASE, call).await.unwrap().unwrap(), 1);
        }
        assert_eq!(slow.loads(), 1);
        slow.let_through(1);
        refresh.await.unwrap().unwrap();
        a.invalidate().await;
    }
}

/// A caller whose budget is short leaves; those who have longer get the value.
pub async fn p19_a_budget_is_each_callers_own(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let short = plain().wait(LEASE).on_timeout(OnTimeout::Fail);
    let source = Source::gated();
    let leader = b.spawn(plain(), &source);
    source.began().await;
    // The impatient one comes first, and leads this process's wait.
    let impatient = a.spawn(short, &source);
    settle().await;
    let patient = a.spawn(plain(), &source);
    assert!(within(2 * LEASE, impatient).await.unwrap().is_err());
    source.let_through(1);
    assert_eq!(within(LEASE, patient).await.unwrap().unwrap(), 1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 1);
}

/// Whose budget is over does not ask for the lease once more.
pub async fn p19_who_is_overdue_asks_no_more(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    // Long enough for the first answer to come, and not so long that the lease might seem to end meanwhile.
    let policy = unhurried(plain()).wait(3 * LEASE).on_timeout(OnTimeout::Fail);
    let source = Source::gated();
    let leader = a.spawn(policy, &source);
    source.began().await;
    b.call(policy, &source).await.unwrap_err();
    // Once before it watched, and once after: what happened in between would be missed.
    assert_eq!(b.way.calls()[Method::Acquire], 2);
    source.let_through(1);
    leader.await.unwrap().unwrap();
}
