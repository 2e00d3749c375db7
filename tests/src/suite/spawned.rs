//! P12, P14, P16–P18, P21, P23 for fills that are tasks of their own: who is answered when, and what outlives whom.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use singleflight_core::{FlightErrorKind, Losers, Policy, SingleFlight, single_flight};
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

use crate::harness::{
    Harness, LEASE, Process, all, leased, no_more_tasks_than, pass, settle, soft, tasks, within,
};
use crate::source::{LoadError, Source};

const SOFT: Policy = soft();

/// The row of [`KEY`](crate::harness::KEY), loaded by a task.
#[single_flight(key = "row:1", policy = SOFT, spawn, flights = &flights, skip(flights, source))]
async fn spawning(flights: SingleFlight, source: Arc<Source>) -> Result<u64, LoadError> {
    source.load().await
}

/// A call of the function whose fills are tasks.
pub(super) fn call(process: &Process, source: &Arc<Source>) -> JoinHandle<Result<u64, LoadError>> {
    tokio::spawn(spawning(process.flights.clone(), source.clone()))
}

/// Many of them.
pub(super) fn calls(
    n: usize,
    process: &Process,
    source: &Arc<Source>,
) -> Vec<JoinHandle<Result<u64, LoadError>>> {
    (0..n).map(|_| call(process, source)).collect()
}

/// Another process, in which the function has this policy.
pub(super) fn process_with(harness: &dyn Harness, policy: Policy) -> Process {
    let process = harness.process();
    process.flights.override_policy("spawned::spawning", policy).unwrap();
    process
}

/// Stores 1 and lets it grow stale.
pub(super) async fn leave_stale(process: &Process) {
    assert_eq!(call(process, &Source::quick()).await.unwrap().unwrap(), 1);
    pass(11 * LEASE).await;
}

/// Drops a call, and waits until it is gone.
async fn give_up<T>(call: JoinHandle<T>) {
    call.abort();
    let _ = call.await;
}

/// Many callers in many processes, one task, which renews its lease by itself.
pub async fn p14_many_callers_one_spawned_fill(harness: &dyn Harness) {
    let lease = 3 * LEASE;
    let processes: Vec<_> = (0..4).map(|_| process_with(harness, leased(soft(), lease))).collect();
    let source = Source::slow(5 * lease);
    let waiting = processes.iter().flat_map(|process| calls(25, process, &source)).collect();
    all(waiting).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
    let renewals: u64 = processes.iter().map(|process| process.flights.statistics().total.renewals).sum();
    assert!((10..=16).contains(&renewals), "three in a TTL: {renewals}");
    harness.freed().await;
}

/// The caller that began it goes away, and nobody else notices: no second load.
pub async fn p16_a_spawned_fill_outlives_its_caller(harness: &dyn Harness) {
    let lease = 3 * LEASE;
    let process = || process_with(harness, leased(soft(), lease));
    let (a, b) = (process(), process());
    let source = Source::gated();
    let first = call(&a, &source);
    source.began().await;
    let mut others = calls(5, &a, &source);
    others.extend(calls(5, &b, &source));
    settle().await;
    give_up(first).await;
    // Longer than a lease lasts: the task renews it although nobody who began it is left.
    pass(lease + LEASE).await;
    source.let_through(1);
    all(others).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
    assert_eq!(a.flights.statistics().total.takeovers, 0);
    harness.freed().await;
}

/// Everyone goes away: the value is stored all the same, and nobody loads it again.
pub async fn p16_a_spawned_fill_outlives_all_who_waited(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let first = call(&a, &source);
    source.began().await;
    let mut callers = calls(3, &a, &source);
    callers.extend(calls(3, &b, &source));
    callers.push(first);
    settle().await;
    for caller in callers {
        give_up(caller).await;
    }
    source.let_through(1);
    harness.freed().await;
    for process in [&a, &b] {
        assert_eq!(within(LEASE / 2, call(process, &source)).await.unwrap().unwrap(), 1);
    }
    assert_eq!((source.loads(), a.flights.in_progress(), b.flights.in_progress()), (1, 0, 0));
}

/// Followers that go away take nobody with them.
pub async fn p16_dropped_followers_of_a_spawned_fill_affect_nobody(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let mut staying = vec![call(&a, &source)];
    source.began().await;
    let mut leaving = calls(3, &a, &source);
    leaving.extend(calls(3, &b, &source));
    staying.extend([call(&a, &source), call(&b, &source)]);
    settle().await;
    for caller in leaving {
        give_up(caller).await;
    }
    source.let_through(1);
    all(staying).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
}

/// A panic of the task is its caller's; the others are told in words; the key works afterwards.
pub async fn p17_a_spawned_panic_is_its_callers(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let first = call(&a, &source);
    source.began().await;
    let (here, there) = (calls(5, &a, &source), calls(5, &b, &source));
    settle().await;
    source.panic(true);
    source.let_through(1);
    let panic = within(LEASE, first).await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the source panics"));
    for result in all(here).await {
        assert_eq!(result.unwrap_err().kind(), Some(FlightErrorKind::Panicked));
    }
    for result in all(there).await {
        assert_eq!(result.unwrap_err().kind(), Some(FlightErrorKind::LoadFailed));
    }
    assert_eq!((source.loads(), a.flights.in_progress()), (1, 0));
    source.panic(false);
    source.let_through(1);
    assert_eq!(within(LEASE / 2, call(&b, &source)).await.unwrap().unwrap(), 1, "it works afterwards");
}

/// The same with nobody left to panic: those who wait are told.
pub async fn p17_a_panic_of_an_orphaned_fill_reaches_those_who_wait(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let first = call(&a, &source);
    source.began().await;
    let others = [call(&a, &source), call(&b, &source)];
    settle().await;
    give_up(first).await;
    source.panic(true);
    source.let_through(1);
    for other in others {
        assert!(within(LEASE / 2, other).await.unwrap().unwrap_err().kind().is_some());
    }
    assert_eq!(source.loads(), 1);
    harness.freed().await;
}

/// A stale copy is answered at once to everyone, the one who begins the refresh included. *caffeine #175*.
pub async fn p18_a_spawned_refresh_holds_nobody_up(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let slow = Source::gated();
    leave_stale(&a).await;
    slow.set(2);
    for _ in 0..3 {
        for process in [&a, &b] {
            assert_eq!(within(LEASE / 4, call(process, &slow)).await.unwrap().unwrap(), 1);
        }
        pass(LEASE).await;
    }
    assert_eq!(slow.loads(), 1, "one refresher in the fleet");
    slow.let_through(1);
    harness.freed().await;
    for process in [&a, &b] {
        assert_eq!(call(process, &slow).await.unwrap().unwrap(), 2);
    }
    assert_eq!((slow.loads(), a.flights.in_progress()), (1, 0));
    assert_eq!(a.flights.statistics().total.stale + b.flights.statistics().total.stale, 6);
}

/// The refresh goes on when the caller that began it is gone: it was answered long before.
pub async fn p18_a_spawned_refresh_outlives_its_caller(harness: &dyn Harness) {
    let lease = 3 * LEASE;
    let process = || process_with(harness, leased(soft(), lease));
    let (a, b) = (process(), process());
    let slow = Source::gated();
    leave_stale(&a).await;
    slow.set(2);
    assert_eq!(within(LEASE / 4, call(&a, &slow)).await.unwrap().unwrap(), 1);
    slow.began().await;
    pass(lease + LEASE).await;
    slow.let_through(1);
    harness.freed().await;
    assert_eq!(call(&b, &slow).await.unwrap().unwrap(), 2);
    assert_eq!(slow.loads(), 1);
}

/// `losers = "wait"`: the one who begins the refresh waits for its task, and so does everyone else.
pub async fn p18_losers_that_wait_get_the_new_value_of_a_spawned_refresh(harness: &dyn Harness) {
    let waiting = || process_with(harness, soft().losers(Losers::Wait));
    let (a, b) = (waiting(), waiting());
    let slow = Source::gated();
    leave_stale(&a).await;
    slow.set(2);
    let mut callers = calls(5, &a, &slow);
    callers.extend(calls(5, &b, &slow));
    slow.began().await;
    settle().await;
    assert!(callers.iter().all(|caller| !caller.is_finished()));
    slow.let_through(1);
    all(callers).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
    assert_eq!(slow.loads(), 1);
}

/// A task that hangs loses its lease at `max_hold`, although its caller has long gone: one takes over.
pub async fn p12_a_hung_spawned_fill_is_succeeded_after_max_hold(harness: &dyn Harness) {
    let process = || process_with(harness, soft().max_hold(9 * LEASE));
    let (a, b) = (process(), process());
    let (hung, source) = (Source::gated(), Source::slow(LEASE / 2));
    let first = call(&a, &hung);
    hung.began().await;
    let mut others = calls(5, &a, &source);
    others.extend(calls(5, &b, &source));
    settle().await;
    give_up(first).await;
    pass(4 * LEASE).await;
    assert_eq!(source.loads(), 0, "it is alive");
    within(6 * LEASE, source.began()).await;
    all(others).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1, "one takeover in the fleet");
    hung.let_through(1);
    settle().await;
    assert_eq!(a.flights.statistics().total.fenced, 1, "and what it gives in the end is not stored");
    harness.freed().await;
}

/// The same for a refresh: the stale copy is served meanwhile, and then one of those who are served refreshes it.
pub async fn p12_a_hung_spawned_refresh_is_succeeded_after_max_hold(harness: &dyn Harness) {
    let process = || process_with(harness, soft().max_hold(9 * LEASE));
    let (a, b) = (process(), process());
    let (hung, source) = (Source::gated(), Source::quick());
    leave_stale(&a).await;
    hung.set(3);
    source.set(2);
    assert_eq!(call(&a, &hung).await.unwrap().unwrap(), 1);
    hung.began().await;
    for _ in 0..4 {
        for process in [&a, &b] {
            assert_eq!(within(LEASE / 4, call(process, &source)).await.unwrap().unwrap(), 1);
        }
        pass(LEASE).await;
    }
    assert_eq!(source.loads(), 0, "it is alive");
    pass(6 * LEASE).await;
    assert_eq!(call(&b, &source).await.unwrap().unwrap(), 1, "the one who begins the next refresh");
    harness.freed().await;
    hung.let_through(1);
    settle().await;
    for process in [&a, &b] {
        assert_eq!(call(process, &source).await.unwrap().unwrap(), 2);
    }
    assert_eq!(source.loads(), 1);
}

type Answer = Pin<Box<dyn Future<Output = Result<u64, LoadError>> + Send>>;

/// Calls itself so many times more.
#[single_flight(key = "nested", policy = SOFT, spawn, flights = &flights.clone(), skip(flights, left, loads))]
async fn nested(flights: SingleFlight, left: u64, loads: Arc<AtomicUsize>) -> Result<u64, LoadError> {
    loads.fetch_add(1, Ordering::SeqCst);
    if left == 0 { Ok(0) } else { Ok(1 + again(flights.clone(), left - 1, loads.clone()).await?) }
}

fn again(flights: SingleFlight, left: u64, loads: Arc<AtomicUsize>) -> Answer {
    Box::pin(nested(flights, left, loads))
}

/// The task knows which fill it is: the same key inside it runs the body.
pub async fn p21_a_key_inside_its_own_spawned_fill_runs_the_body(harness: &dyn Harness) {
    let a = harness.process();
    let loads = Arc::new(AtomicUsize::new(0));
    let call = || again(a.flights.clone(), 3, loads.clone());
    assert_eq!(within(LEASE / 2, call()).await.unwrap(), 3);
    assert_eq!(loads.load(Ordering::SeqCst), 4);
    harness.freed().await;
    pass(11 * LEASE).await;
    // The same in a refresh, of which nobody waits for the end.
    assert_eq!(within(LEASE / 2, call()).await.unwrap(), 3);
    settle().await;
    assert_eq!(loads.load(Ordering::SeqCst), 8);
    harness.freed().await;
    assert_eq!(a.flights.in_progress(), 0);
}

/// One of two keys whose loads call each other; both loads have begun before either calls.
#[single_flight(key = "<mine>", policy = SOFT, spawn, flights = &flights.clone(), skip(flights, other, both))]
async fn crosswise(
    flights: SingleFlight,
    mine: &'static str,
    other: Option<&'static str>,
    both: Arc<Barrier>,
) -> Result<u64, LoadError> {
    let Some(other) = other else { return Ok(1) };
    both.wait().await;
    Ok(1 + across(flights.clone(), other, None, both.clone()).await?)
}

fn across(
    flights: SingleFlight,
    mine: &'static str,
    other: Option<&'static str>,
    both: Arc<Barrier>,
) -> Answer {
    Box::pin(crosswise(flights, mine, other, both))
}

/// Tasks that wait for each other are found at once.
pub async fn p21_crosswise_spawned_fills_end_at_once(harness: &dyn Harness) {
    let a = harness.process();
    let both = Arc::new(Barrier::new(2));
    let call = |mine, other| tokio::spawn(across(a.flights.clone(), mine, Some(other), both.clone()));
    for caller in [call("a", "b"), call("b", "a")] {
        assert!(within(LEASE / 2, caller).await.unwrap().unwrap() >= 2);
    }
    settle().await;
    assert_eq!(a.flights.in_progress(), 0);
    harness.freed().await;
}

/// After values, errors, panics and callers that went away: no flight, no lease, no task.
pub async fn p23_nothing_remains_of_a_spawned_fill(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    // Engine and backend may have tasks of their own from the first wait on.
    let mut before = None;
    for stale in [false, true] {
        for round in 0..4 {
            let source = Source::gated();
            if stale {
                leave_stale(&a).await;
            }
            let mut callers = vec![call(&a, &source)];
            source.began().await;
            callers.extend(calls(5, &a, &source));
            callers.extend(calls(5, &b, &source));
            settle().await;
            match round {
                0 => {}
                1 => source.fail(true),
                2 => source.panic(true),
                _ => callers.iter().for_each(JoinHandle::abort),
            }
            source.let_through(1);
            for caller in callers {
                let _ = within(LEASE, caller).await;
            }
            harness.freed().await;
            a.invalidate().await;
            settle().await;
            before.get_or_insert_with(tasks);
        }
    }
    assert_eq!((a.flights.in_progress(), b.flights.in_progress()), (0, 0));
    no_more_tasks_than(before.expect("eight rounds")).await;
}
