//! P14, P20, P22–P24: those who wait, and what is left of them.

use singleflight_core::testing::Method;

use crate::harness::{
    HELD, Harness, LEASE, all, leased, no_more_tasks_than, pass, plain, settle, tasks, unhurried, within,
};
use crate::source::{LoadError, Source};

/// Many callers in many processes, one load.
pub async fn p14_many_callers_one_fill(harness: &dyn Harness) {
    let processes: Vec<_> = (0..4).map(|_| harness.process()).collect();
    let source = Source::gated();
    let calls = processes.iter().flat_map(|process| process.spawn_many(50, plain(), &source)).collect();
    source.began().await;
    settle().await;
    source.let_through(1);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
    let fills: u64 = processes.iter().map(|process| process.flights.statistics().total.fills).sum();
    assert_eq!(fills, 1);
}

/// The fill takes many lease TTLs: *cashews #333*. Renewed, it stays one, and those who wait do not ask all the time.
pub async fn p14_a_fill_that_takes_many_leases_is_one(harness: &dyn Harness) {
    let processes: Vec<_> = (0..3).map(|_| harness.process()).collect();
    let lease = 3 * LEASE;
    let (policy, source) = (leased(plain(), lease), Source::slow(8 * lease));
    let calls = processes.iter().flat_map(|process| process.spawn_many(5, policy, &source)).collect();
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
    let renewals: u64 = processes.iter().map(|process| process.flights.statistics().total.renewals).sum();
    assert!((16..=25).contains(&renewals), "three in a TTL: {renewals}");
    let asked: u64 = processes.iter().map(|process| process.way.calls()[Method::Acquire]).sum();
    assert!(asked < 40, "{asked} questions for the lease");
    assert_eq!(processes.iter().map(|p| p.flights.statistics().total.waits).sum::<u64>(), 2);
}

/// Someone stored the value between the look and the question for the lease: it is read, not loaded.
pub async fn p14_the_store_is_looked_at_again_under_the_lease(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    let gate = a.way.on(Method::Acquire).hold();
    let late = a.spawn(plain(), &source);
    gate.reached().await;
    b.call(plain(), &source).await.unwrap();
    drop(gate);
    assert_eq!(within(LEASE, late).await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 1);
}

/// The notification never comes: those who wait find the value by themselves before long.
pub async fn p20_a_lost_notification_costs_time_only(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    b.way.set_deaf(true);
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let waiters = b.spawn_many(5, plain(), &source);
    pass(3 * LEASE).await;
    source.let_through(1);
    leader.await.unwrap().unwrap();
    for waiter in waiters {
        assert_eq!(within(HELD + LEASE / 2, waiter).await.unwrap().unwrap(), 1);
    }
    assert_eq!(source.loads(), 1);
}

/// A backend that cannot watch at all is looked at now and then.
pub async fn p20_without_a_watch_it_is_polled(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    b.way.on(Method::Watch).times(100).fail(singleflight_core::error::BackendErrorKind::Refused);
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let waiter = b.spawn(plain(), &source);
    pass(3 * LEASE).await;
    source.let_through(1);
    leader.await.unwrap().unwrap();
    assert_eq!(within(LEASE, waiter).await.unwrap().unwrap(), 1);
    assert!(b.way.calls()[Method::Acquire] < 60, "{}", b.way.calls()[Method::Acquire]);
}

/// The value is published while the watch is being begun: *watch, then look, then sleep*.
pub async fn p20_what_happens_while_the_watch_begins_is_not_missed(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let gate = b.way.on(Method::Watch).hold();
    let waiter = b.spawn(plain(), &source);
    gate.reached().await;
    source.let_through(1);
    leader.await.unwrap().unwrap();
    drop(gate);
    assert_eq!(within(LEASE / 4, waiter).await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 1);
}

/// Keys have nothing to do with each other: *symfony #62328*, with nested loads.
pub async fn p22_keys_never_block_each_other(harness: &dyn Harness) {
    let process = harness.process();
    let stuck = Source::gated();
    let hung = process.spawn_key("stuck", plain(), &stuck);
    stuck.began().await;
    let source = Source::slow(LEASE);
    // Three thousand leases at once, which a busy machine is not to lose.
    let policy = leased(plain(), 20 * LEASE);
    let calls = (0..2_000)
        .map(|n| {
            let (flights, source) = (process.flights.clone(), source.clone());
            tokio::spawn(async move {
                let outer = format!("outer:{n}");
                let load = || async {
                    let inner = format!("inner:{}", n / 2);
                    flights.flight(&inner).policy(policy).run_sharing(|| source.load()).await
                };
                flights.flight(&outer).policy(policy).run_sharing(load).await
            })
        })
        .collect();
    // One after the other they would take a thousand.
    let results: Vec<Result<u64, LoadError>> = within(20 * LEASE, all(calls)).await;
    results.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1_000);
    stuck.let_through(1);
    hung.await.unwrap().unwrap();
    assert_eq!(process.flights.in_progress(), 0);
}

/// After values, errors, cancels and panics: no flight, no lease, no task.
pub async fn p23_nothing_remains_of_a_flight(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (policy, mut before) = (unhurried(plain()), 0);
    for round in 0..5 {
        let source = Source::gated();
        let leader = a.spawn(policy, &source);
        source.began().await;
        let mut calls = a.spawn_many(5, policy, &source);
        calls.extend(b.spawn_many(5, policy, &source));
        settle().await;
        match round {
            // The backend may have tasks of its own from the first wait on.
            0 | 1 => {}
            2 => source.fail(true),
            3 => source.panic(true),
            _ => calls.iter().for_each(tokio::task::JoinHandle::abort),
        }
        source.let_through(1);
        let _ = within(LEASE, leader).await;
        for call in calls {
            let _ = within(LEASE, call).await;
        }
        harness.freed().await;
        a.invalidate().await;
        settle().await;
        if round == 0 {
            before = tasks();
        }
    }
    assert_eq!((a.flights.in_progress(), b.flights.in_progress()), (0, 0));
    no_more_tasks_than(before).await;
}

/// A hit runs nothing of the body.
pub async fn p24_a_hit_runs_no_body(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.call(plain(), &source).await.unwrap();
    for _ in 0..100 {
        assert_eq!(a.call(plain(), &source).await.unwrap(), 1);
        assert_eq!(b.call(plain(), &source).await.unwrap(), 1);
    }
    assert_eq!(source.loads(), 1);
    let (here, there) = (a.flights.statistics().total, b.flights.statistics().total);
    assert_eq!((here.hits, here.fills, there.hits, there.fills), (100, 1, 100, 0));
    assert_eq!(b.way.calls()[Method::Acquire], 0, "and asks for no lease");
}

/// Nor does a hit by many at once.
pub async fn p24_many_hits_at_once_run_no_body(harness: &dyn Harness) {
    let a = harness.process();
    let source = Source::quick();
    a.call(plain(), &source).await.unwrap();
    let calls = a.spawn_many(500, plain(), &source);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
}
