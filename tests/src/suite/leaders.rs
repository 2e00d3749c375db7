//! P11, P12, P16, P17: leaders that crash, hang, go away or panic.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use singleflight_core::testing::{Method, Moment};
use singleflight_core::{FlightErrorKind, Policy};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::harness::{
    GRAIN, Harness, KEY, LEASE, Process, all, leased, pass, plain, settle, soft, unhurried, within,
};
use crate::source::{LoadError, SITE, Source};

type Call = Pin<Box<dyn Future<Output = Result<u64, LoadError>> + Send>>;

/// A call that is polled by hand.
fn call(process: &Process, policy: Policy, source: &Arc<Source>) -> Call {
    let (flights, source) = (process.flights.clone(), source.clone());
    Box::pin(
        async move { flights.flight(KEY).site(&SITE).policy(policy).run_sharing(|| source.load()).await },
    )
}

/// Polls it until it loads, and then never again unless it is asked to.
async fn poll_until_it_loads(call: &mut Call, source: &Source) {
    let loads = source.loads();
    while source.loads() == loads {
        poll(call);
        pass(Duration::from_millis(1)).await;
    }
}

/// Polls it as often as it takes to see that it waits for the leader of its process.
async fn poll_until_it_follows(call: &mut Call) {
    for _ in 0..100 {
        poll(call);
        tokio::task::yield_now().await;
    }
}

fn poll(call: &mut Call) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
}

/// The leader's process is gone: *layercache #59*.
pub async fn p11_a_crashed_leader_has_one_successor(harness: &dyn Harness) {
    let (b, c, d) = (harness.process(), harness.process(), harness.process());
    let (dead, source) = (Source::gated(), Source::slow(LEASE / 2));
    let lease = 5 * LEASE;
    let before = Instant::now();
    harness.process().crash(leased(plain(), lease), &dead).await;
    let mut calls = Vec::new();
    for process in [&b, &c, &d] {
        calls.extend(process.spawn_many(10, plain(), &source));
    }
    within(lease + lease / 20, source.began()).await;
    assert!(source.load_times()[0] - before >= lease - GRAIN, "not before the lease ends");
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1, "exactly one successor");
}

/// The leader's runtime is gone, and with it its timers and its followers' watchdog.
pub async fn p11_a_leader_whose_runtime_is_gone_is_succeeded(harness: &dyn Harness) {
    let a = harness.process();
    let (dead, source) = (Source::gated(), Source::quick());
    let policy = leased(plain(), LEASE);
    let (mut leader, mut follower) = (call(&a, policy, &dead), call(&a, policy, &dead));
    // The other runtime begins the flight and its timers, and is shut down with all of them alive.
    let (other, over) = (dead.clone(), Arc::new(Notify::new()));
    let ended = over.clone();
    let runtime = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            poll_until_it_loads(&mut leader, &other).await;
            poll_until_it_follows(&mut follower).await;
            poll(&mut leader);
        });
        drop(runtime);
        ended.notify_one();
        (leader, follower)
    });
    // The way to the backend is this runtime's, and goes on.
    over.notified().await;
    let gone = runtime.join().unwrap();
    assert_eq!(dead.loads(), 1);
    let next = a.call(plain(), &source);
    assert_eq!(within(4 * LEASE, next).await.unwrap(), 1);
    std::mem::forget(gone);
}

/// A leader that is never polled again: *moka #240*. The first who waits is parked too.
pub async fn p12_a_parked_leader_and_a_parked_follower_hold_nobody_up(harness: &dyn Harness) {
    let a = harness.process();
    let (dead, source) = (Source::gated(), Source::quick());
    let mut leader = call(&a, leased(plain(), LEASE), &dead);
    poll_until_it_loads(&mut leader, &dead).await;
    let mut first = call(&a, plain(), &dead);
    poll_until_it_follows(&mut first).await;
    let (second, third) = (a.spawn(plain(), &source), a.spawn(plain(), &source));
    assert_eq!(within(5 * LEASE, second).await.unwrap().unwrap(), 1);
    assert_eq!(within(5 * LEASE, third).await.unwrap().unwrap(), 1);
    assert_eq!((source.loads(), dead.loads()), (1, 1));
    drop((leader, first));
    harness.freed().await;
    assert_eq!(a.flights.in_progress(), 0);
}

/// Somebody comes only after the parked leader's lease is over.
pub async fn p12_who_comes_late_to_a_parked_leader_is_answered(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (dead, source) = (Source::gated(), Source::gated());
    let mut leader = call(&a, leased(plain(), LEASE), &dead);
    poll_until_it_loads(&mut leader, &dead).await;
    pass(10 * LEASE).await;
    let (here, there) = (a.spawn(plain(), &source), b.spawn(plain(), &source));
    source.began().await;
    settle().await;
    source.let_through(1);
    assert_eq!(within(3 * LEASE, here).await.unwrap().unwrap(), 1);
    assert_eq!(within(3 * LEASE, there).await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 1);
    // It wakes up after all: its caller is answered, and nothing of it is stored.
    dead.set(7);
    dead.let_through(1);
    assert_eq!(within(LEASE, leader).await.unwrap(), 1);
    assert_eq!(b.call(plain(), &source).await.unwrap(), 1);
}

/// A parked leader whose waiters are content with a stale copy must not keep it from being refreshed for ever.
pub async fn p12_a_parked_refresh_is_taken_over(harness: &dyn Harness) {
    let a = harness.process();
    let (dead, source) = (Source::gated(), Source::quick());
    let policy = leased(soft(), 3 * LEASE);
    a.call(policy, &source).await.unwrap();
    pass(11 * LEASE).await;
    let mut leader = call(&a, policy, &dead);
    poll_until_it_loads(&mut leader, &dead).await;
    source.set(2);
    assert_eq!(a.call(policy, &source).await.unwrap(), 1, "stale meanwhile");
    pass(4 * LEASE).await;
    let mut values = Vec::new();
    for _ in 0..10 {
        values.push(a.call(policy, &source).await.unwrap());
        pass(LEASE / 4).await;
    }
    assert_eq!(values.last(), Some(&2), "refreshed by one of them: {values:?}");
    drop(leader);
}

/// A leader that waits for the store's answer is alive, however long that takes: nobody asks in its place.
pub async fn p12_a_leader_that_waits_for_an_answer_is_not_deposed(harness: &dyn Harness) {
    let (a, source) = (harness.process(), Source::quick());
    let gate = a.way.on(Method::Acquire).hold();
    let calls = a.spawn_many(3, leased(plain(), 3 * LEASE), &source);
    gate.reached().await;
    pass(9 * LEASE).await;
    assert_eq!((a.way.calls()[Method::Acquire], a.flights.statistics().total.takeovers), (1, 0));
    drop(gate);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
}

/// A load that never ends: *dialogporten #4252*. After `max_hold` one takes over; the old one ends by itself.
pub async fn p12_a_hung_leader_holds_its_lease_for_max_hold(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().max_hold(8 * LEASE);
    let (hung, source) = (Source::gated(), Source::slow(LEASE / 2));
    let before = Instant::now();
    let old = a.spawn(policy, &hung);
    hung.began().await;
    let mut calls = a.spawn_many(5, policy, &source);
    calls.extend(b.spawn_many(5, policy, &source));
    within(9 * LEASE, source.began()).await;
    assert!(source.load_times()[0] - before >= 8 * LEASE - GRAIN, "it is alive so long");
    source.set(2);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1, "one takeover in the fleet");
    hung.set(9);
    hung.let_through(1);
    assert_eq!(within(LEASE, old).await.unwrap().unwrap(), 1, "its own caller is answered");
    assert_eq!(a.call(policy, &source).await.unwrap(), 1);
    assert_eq!(a.flights.statistics().total.fenced, 1);
    harness.freed().await;
}

/// Nobody waits: the key is usable after `max_hold` all the same.
pub async fn p12_max_hold_counts_also_with_nobody_waiting(harness: &dyn Harness) {
    let a = harness.process();
    let policy = leased(plain(), LEASE).max_hold(2 * LEASE);
    let (hung, source) = (Source::gated(), Source::quick());
    let old = a.spawn(policy, &hung);
    hung.began().await;
    pass(4 * LEASE).await;
    assert_eq!((harness.leases().await, a.flights.in_progress()), (0, 0));
    assert_eq!(within(LEASE / 2, a.call(policy, &source)).await.unwrap(), 1);
    hung.let_through(1);
    old.await.unwrap().unwrap();
}

/// The leader is dropped in the body, others wait: *moka #240, #59*. One of them loads, under the same lease.
pub async fn p16_a_dropped_leader_hands_over_in_the_body(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let mut calls = a.spawn_many(5, plain(), &source);
    calls.extend(b.spawn_many(5, plain(), &source));
    settle().await;
    leader.abort();
    within(LEASE / 2, source.began()).await;
    source.let_through(1);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!((source.loads(), source.most()), (2, 1));
    assert_eq!(a.flights.statistics().total.takeovers, 1);
    harness.freed().await;
}

/// Dropped while it asks for the lease, before or after the store has granted it.
pub async fn p16_a_dropped_leader_hands_over_while_it_asks(harness: &dyn Harness) {
    for moment in [Moment::Before, Moment::After] {
        let (a, source) = (harness.process(), Source::quick());
        let gate = a.way.on(Method::Acquire).at(moment).hold();
        let leader = a.spawn(plain(), &source);
        gate.reached().await;
        let calls = a.spawn_many(5, plain(), &source);
        settle().await;
        leader.abort();
        let _ = leader.await;
        drop(gate);
        // The question is taken back: nobody waits for the lease to end.
        for call in calls {
            assert_eq!(within(LEASE / 2, call).await.unwrap().unwrap(), 1);
        }
        assert_eq!(source.loads(), 1, "{moment:?}");
        harness.freed().await;
        a.invalidate().await;
    }
}

/// Dropped while it stores the value, before or after the store has it: nobody loads again.
pub async fn p16_a_dropped_leader_hands_over_its_value(harness: &dyn Harness) {
    for moment in [Moment::Before, Moment::After] {
        let (a, source) = (harness.process(), Source::gated());
        let gate = a.way.on(Method::Publish).at(moment).hold();
        let leader = a.spawn(plain(), &source);
        source.began().await;
        let calls = a.spawn_many(5, plain(), &source);
        settle().await;
        source.let_through(1);
        gate.reached().await;
        leader.abort();
        let _ = leader.await;
        drop(gate);
        for call in calls {
            assert_eq!(within(LEASE / 2, call).await.unwrap().unwrap(), 1);
        }
        assert_eq!(source.loads(), 1, "{moment:?}");
        assert_eq!(harness.process().call(plain(), &source).await.unwrap(), 1, "and it is stored");
        harness.freed().await;
        a.invalidate().await;
    }
}

/// A follower that goes away takes nobody with it.
pub async fn p16_a_dropped_follower_affects_nobody(harness: &dyn Harness) {
    let (a, source) = (harness.process(), Source::gated());
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let (first, second) = (a.spawn(plain(), &source), a.spawn(plain(), &source));
    settle().await;
    first.abort();
    let _ = first.await;
    source.let_through(1);
    all(vec![leader, second]).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!((source.loads(), a.flights.in_progress()), (1, 0));
}

/// The one that was just handed the flight goes away before it is polled.
pub async fn p16_a_just_promoted_follower_may_be_dropped(harness: &dyn Harness) {
    let (a, source) = (harness.process(), Source::gated());
    let mut leader = call(&a, plain(), &source);
    poll_until_it_loads(&mut leader, &source).await;
    source.began().await;
    let mut first = call(&a, plain(), &source);
    poll_until_it_follows(&mut first).await;
    let second = a.spawn(plain(), &source);
    settle().await;
    drop(leader);
    drop(first);
    within(LEASE / 2, source.began()).await;
    source.let_through(1);
    assert_eq!(within(LEASE, second).await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 2);
    harness.freed().await;
}

/// Callers with one deadline leave in a row, each of them leading for a moment: none but the first may begin a load.
pub async fn p16_callers_that_leave_together_load_once(harness: &dyn Harness) {
    let (process, source) = (harness.process(), Source::gated());
    for round in 1..=3 {
        let leave = Arc::new(tokio::sync::Barrier::new(1 + 20));
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let (mut call, leave) = (call(&process, plain(), &source), leave.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        biased;
                        _ = &mut call => panic!("nobody is let through"),
                        _ = leave.wait() => {}
                    }
                })
            })
            .collect();
        source.began().await;
        settle().await;
        leave.wait().await;
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(source.loads(), round, "one for each time that they came");
        harness.freed().await;
    }
}

/// Everyone gives up, again and again, while the key is slow: *moka #59*.
pub async fn p16_leaders_that_time_out_again_and_again(harness: &dyn Harness) {
    let a = harness.process();
    let source = Source::slow(Duration::from_secs(2));
    let gave_up = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..600_u64)
        .map(|n| {
            let (call, gave_up) = (call(&a, plain(), &source), gave_up.clone());
            tokio::spawn(async move {
                pass(Duration::from_millis(n)).await;
                // The first ones never see the end of a load of their own.
                match tokio::time::timeout(Duration::from_millis(1500 + 7 * (n % 100)), call).await {
                    Ok(result) => Some(result.unwrap()),
                    Err(_) => {
                        gave_up.fetch_add(1, Ordering::SeqCst);
                        None
                    }
                }
            })
        })
        .collect();
    for value in all(calls).await {
        assert!(value.is_none_or(|value| value == 1));
    }
    assert!(gave_up.load(Ordering::SeqCst) > 100, "the test does what it says");
    assert_eq!(source.most(), 1, "never two loads at once");
    assert_eq!(within(Duration::from_secs(5), a.call(plain(), &source)).await.unwrap(), 1);
    let loads = source.loads();
    assert_eq!(a.call(plain(), &source).await.unwrap(), 1);
    assert_eq!(source.loads(), loads, "it has landed");
    assert_eq!(a.flights.in_progress(), 0);
    harness.freed().await;
}

/// The panic goes to the leader's caller, an error to those who wait here and elsewhere; the key works afterwards.
pub async fn p17_a_panic_is_the_leaders_and_an_error_for_the_others(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (policy, source) = (unhurried(plain()), Source::gated());
    let leader = a.spawn(policy, &source);
    source.began().await;
    let (here, there) = (a.spawn_many(5, policy, &source), b.spawn_many(5, policy, &source));
    settle().await;
    source.panic(true);
    source.let_through(1);
    assert!(within(LEASE, leader).await.unwrap_err().is_panic());
    for result in all(here).await {
        assert_eq!(result.unwrap_err().kind(), Some(FlightErrorKind::Panicked));
    }
    for result in all(there).await {
        let error = result.unwrap_err();
        assert!(error.kind().is_some() && error.to_string().contains("panicked"), "{error}");
    }
    assert_eq!(source.loads(), 1);
    source.panic(false);
    source.let_through(1);
    assert_eq!(within(LEASE, a.call(policy, &source)).await.unwrap(), 1);
    assert_eq!(a.flights.statistics().total.panics, 1);
    assert_eq!(a.flights.in_progress(), 0);
    harness.freed().await;
}
