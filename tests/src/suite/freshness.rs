//! P18: what is fresh, stale and gone.

use std::time::Duration;

use singleflight_core::testing::Method;
use singleflight_core::{Clock, Losers};

use tokio::time::Instant;

use crate::harness::{GRAIN, Harness, LEASE, all, pass, plain, settle, soft, within};
use crate::source::Source;

/// Fresh until the soft TTL, stale until the hard one, then gone.
pub async fn p18_soft_and_hard_ttl_are_kept(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let soft = || soft().max_hold(52 * LEASE);
    let (source, hung) = (Source::quick(), Source::gated());
    a.call(soft(), &source).await.unwrap();
    source.set(2);
    pass(6 * LEASE).await;
    assert_eq!(b.call(soft(), &source).await.unwrap(), 1, "fresh");
    pass(5 * LEASE).await;
    let refresh = a.spawn(soft(), &hung);
    hung.began().await;
    pass(40 * LEASE).await;
    assert_eq!(b.call(soft(), &source).await.unwrap(), 1, "stale");
    pass(10 * LEASE).await;
    assert_eq!(within(90 * LEASE, b.call(soft(), &source)).await.unwrap(), 2, "gone");
    refresh.abort();
}

/// Soft-expired: everyone is answered at once, and one in the fleet refreshes. *caffeine #175*.
pub async fn p18_stale_is_answered_at_once_with_one_refresher(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (source, slow) = (Source::quick(), Source::gated());
    a.call(soft(), &source).await.unwrap();
    pass(11 * LEASE).await;
    slow.set(2);
    let mut calls = a.spawn_many(50, soft(), &slow);
    calls.extend(b.spawn_many(50, soft(), &slow));
    slow.began().await;
    settle().await;
    assert_eq!(calls.iter().filter(|call| !call.is_finished()).count(), 1, "only the refresher is at it");
    for _ in 0..10 {
        for process in [&a, &b] {
            assert_eq!(within(LEASE / 4, process.call(soft(), &slow)).await.unwrap(), 1);
        }
        pass(LEASE).await;
    }
    slow.let_through(1);
    let mut values: Vec<_> = all(calls).await.into_iter().map(Result::unwrap).collect();
    values.sort_unstable();
    assert_eq!((values.pop(), values.pop()), (Some(2), Some(1)), "the refresher has the new value");
    assert_eq!(slow.loads(), 1);
    for process in [&a, &b] {
        assert_eq!(process.call(soft(), &slow).await.unwrap(), 2);
    }
    assert_eq!(a.flights.statistics().total.stale + b.flights.statistics().total.stale, 119);
}

/// A refresh is not a burden for the store: a caller that finds it under way asks once and leaves nothing behind.
pub async fn p18_a_stale_answer_posts_nothing(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (source, slow) = (Source::quick(), Source::gated());
    a.call(soft(), &source).await.unwrap();
    pass(11 * LEASE).await;
    let refresh = a.spawn(soft(), &slow);
    slow.began().await;
    assert_eq!(b.call(soft(), &slow).await.unwrap(), 1);
    assert_eq!((b.way.calls()[Method::Acquire], b.way.calls()[Method::Post]), (1, 0));
    slow.let_through(1);
    refresh.await.unwrap().unwrap();
}

/// `losers = "wait"`: even where there is a stale copy.
pub async fn p18_losers_that_wait_get_the_new_value(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = soft().losers(Losers::Wait);
    let (source, slow) = (Source::quick(), Source::gated());
    a.call(policy, &source).await.unwrap();
    pass(11 * LEASE).await;
    slow.set(2);
    let mut calls = a.spawn_many(10, policy, &slow);
    calls.extend(b.spawn_many(10, policy, &slow));
    slow.began().await;
    settle().await;
    assert!(calls.iter().all(|call| !call.is_finished()));
    slow.let_through(1);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
    assert_eq!(slow.loads(), 1);
}

/// The copy was servable when the wait began, and is past its hard TTL when the refresh fails.
pub async fn p18_a_copy_that_is_gone_is_not_given_after_a_failed_refresh(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = soft().losers(Losers::Wait);
    let (source, slow) = (Source::quick(), Source::gated());
    a.call(policy, &source).await.unwrap();
    pass(58 * LEASE).await;
    let mut calls = a.spawn_many(3, policy, &slow);
    slow.began().await;
    calls.extend(b.spawn_many(3, policy, &slow));
    pass(10 * LEASE).await;
    slow.fail(true);
    slow.let_through(1);
    for result in all(calls).await {
        assert!(result.is_err(), "hard-expired and served: {result:?}");
    }
}

/// The same when it is the wait that ends.
pub async fn p18_a_copy_that_is_gone_is_not_given_after_a_wait(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = soft().losers(Losers::Wait).wait(10 * LEASE);
    let (source, slow) = (Source::quick(), Source::gated());
    a.call(policy, &source).await.unwrap();
    pass(58 * LEASE).await;
    source.set(2);
    let refresh = a.spawn(policy, &slow);
    slow.began().await;
    let calls = [a.spawn(policy, &source), b.spawn(policy, &source)];
    for call in calls {
        assert_eq!(within(15 * LEASE, call).await.unwrap().unwrap(), 2);
    }
    slow.let_through(1);
    refresh.await.unwrap().unwrap();
}

/// A refresher that finds the value refreshed meanwhile takes it over.
pub async fn p18_a_refresh_adopts_a_newer_value(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.call(soft(), &source).await.unwrap();
    pass(11 * LEASE).await;
    source.set(2);
    let gate = a.way.on(Method::Acquire).hold();
    let late = a.spawn(soft(), &source);
    gate.reached().await;
    assert_eq!(b.call(soft(), &source).await.unwrap(), 2);
    drop(gate);
    assert_eq!(within(LEASE, late).await.unwrap().unwrap(), 2);
    assert_eq!(source.loads(), 2);
}

/// An early refresh is one in the fleet, and everyone else is answered.
pub async fn p18_an_early_refresh_is_elected_by_the_lease(harness: &dyn Harness) {
    let processes: Vec<_> = (0..3).map(|_| harness.process()).collect();
    // The fill takes a second, so that β = 1000 means: refresh whenever somebody asks.
    let (policy, source) = (plain().early(1000.0), Source::slow(LEASE));
    processes[0].call(policy, &source).await.unwrap();
    let began = source.loads();
    let calls = processes.iter().flat_map(|process| process.spawn_many(20, policy, &source)).collect();
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!((source.loads() - began, source.most()), (1, 1));
}

/// TTLs are shortened by at most the jitter and never lengthened; without it they are exact.
pub async fn p18_jitter_shortens_within_its_bounds(harness: &dyn Harness) {
    let lives = (0..40).map(|seed| {
        let process =
            harness.process_with(|builder| builder.clock(Clock::system().seeded(seed)).jitter(true));
        tokio::spawn(async move {
            let (key, policy, source) = (format!("row:{seed}"), plain().jitter(0.5), Source::quick());
            // When it was last seen alive, and first seen to be gone.
            let (mut alive, began) = (Duration::ZERO, Instant::now());
            while source.loads() < 2 {
                let now = began.elapsed();
                process.call_key(&key, policy, &source).await.unwrap();
                if source.loads() == 1 {
                    alive = now;
                }
                pass(LEASE).await;
            }
            (alive, source.load_times()[1] - source.load_times()[0])
        })
    });
    let lives = within(90 * LEASE, all(lives.collect())).await;
    let mut gone: Vec<Duration> = lives.iter().map(|(_, gone)| *gone).collect();
    gone.sort_unstable();
    assert!(gone[0] >= 30 * LEASE - GRAIN, "{lives:?}");
    assert!(lives.iter().all(|(alive, _)| *alive <= 61 * LEASE), "{lives:?}");
    assert!(gone[0] < 35 * LEASE && gone[39] > 55 * LEASE, "spread: {lives:?}");
}
