//! P25, P26: the way to the backend is cut, or loses questions and answers. Most of it is only for backends with a way to be cut.

use std::time::Duration;

use singleflight_core::SingleFlight;
use singleflight_core::error::BackendErrorKind;
use singleflight_core::testing::{Method, Moment};

use tokio::time::Instant;

use crate::harness::{GRAIN, HELD, Harness, KEY, LEASE, Process, all, leased, pass, plain, settle, within};
use crate::source::Source;

/// The longest time until a way that is mended is found.
const FOUND: Duration = Duration::from_secs(1);

async fn until_up(process: &Process, source: &std::sync::Arc<Source>) {
    let up = async {
        while !singleflight_core::LeaseBackend::link(&*process.way).is_some_and(|link| link.is_up()) {
            process.call_key("any", plain(), source).await.unwrap();
            pass(FOUND / 100).await;
        }
    };
    within(FOUND, up).await;
}

/// The process coalesces by itself, loads once a second, and tells the store nothing.
pub async fn p25_a_process_without_a_backend_loads_once_a_second(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::slow(LEASE / 10);
    a.way.cut();
    let five = async {
        while source.loads() < 5 {
            let calls = a.spawn_many(50, plain(), &source);
            all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
            pass(LEASE / 10).await;
        }
    };
    within(7 * LEASE, five).await;
    let times = source.load_times();
    let a_second_apart = times.windows(2).all(|pair| pair[1] - pair[0] >= LEASE + LEASE / 10 - GRAIN);
    assert!(a_second_apart && source.most() == 1, "{times:?}");
    a.way.mend();
    until_up(&a, &Source::quick()).await;
    source.set(2);
    assert_eq!(b.call(plain(), &source).await.unwrap(), 2, "nothing was published");
    assert_eq!(a.call(plain(), &source).await.unwrap(), 2, "what was held is dropped");
    assert!(a.flights.statistics().total.degraded >= 5);
}

/// What was loaded while the way was cut does not come back when it is cut again.
pub async fn p25_what_was_held_is_dropped_when_the_link_is_back(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.way.cut();
    assert_eq!(a.call(plain(), &source).await.unwrap(), 1);
    pass(Duration::from_millis(60)).await;
    a.way.mend();
    until_up(&a, &Source::quick()).await;
    source.set(2);
    b.invalidate().await;
    assert_eq!(a.call(plain(), &source).await.unwrap(), 2);
    a.way.cut();
    assert_eq!(a.call(plain(), &source).await.unwrap(), 2, "older than the invalidation");
}

/// The way is cut during a load: everyone has the value, and it costs one load more at most.
pub async fn p25_an_outage_during_a_load_costs_one_more_at_most(harness: &dyn Harness) {
    let a = harness.process();
    let (policy, source) = (leased(plain(), 3 * LEASE), Source::gated());
    let mut calls = a.spawn_many(20, policy, &source);
    source.began().await;
    settle().await;
    a.way.cut();
    pass(6 * LEASE).await;
    calls.extend(a.spawn_many(20, policy, &source));
    settle().await;
    source.let_through(2);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert!(source.loads() <= 2, "{}", source.loads());
    assert_eq!(a.flights.in_progress(), 0);
}

/// Any step may fail in any way, once or three times: callers have the value, soon, and the lease is freed.
pub async fn p25_any_step_may_fail(harness: &dyn Harness) {
    let methods =
        [Method::Read, Method::Acquire, Method::Publish, Method::Renew, Method::Watch, Method::Abandon];
    let kinds = [
        BackendErrorKind::Unavailable,
        BackendErrorKind::Timeout,
        BackendErrorKind::Refused,
        BackendErrorKind::Protocol,
    ];
    let mut steps = Vec::new();
    for method in methods {
        for kind in kinds {
            for (moment, n) in
                [(Moment::Before, 1), (Moment::After, 1), (Moment::Before, 3), (Moment::After, 3)]
            {
                let (a, b) = (harness.process(), harness.process());
                a.way.on(method).at(moment).times(n).fail(kind);
                let what = format!("{method:?} {kind:?} {moment:?} {n}");
                // Each has a key of its own, and they take their time side by side.
                steps.push((tokio::spawn(a_step_fails(a, b, what.clone())), what));
            }
        }
    }
    for (one, what) in steps {
        one.await.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    harness.freed_within(2 * HELD).await;
}

async fn a_step_fails(a: Process, b: Process, key: String) {
    // Long enough for three renewals to fail and the next not to.
    let source = Source::slow(4 * LEASE);
    let calls = [&b, &b, &b, &a, &a, &a].map(|process| process.spawn_key(&key, plain(), &source));
    for result in within(3 * HELD, all(calls.into())).await {
        assert_eq!(result.unwrap(), 1);
    }
    assert!(source.loads() <= 2, "{} loads", source.loads());
}

/// While it is down, calls cost it next to nothing, and it is found within a second.
pub async fn p26_a_dead_backend_costs_a_probe_now_and_then(harness: &dyn Harness) {
    let a = harness.process();
    let source = Source::quick();
    a.way.cut();
    a.call(plain(), &source).await.unwrap();
    let asked = || a.way.calls().total() - a.way.calls()[Method::Post];
    let (before, began) = (asked(), Instant::now());
    let ten_seconds = async {
        while began.elapsed() < 10 * LEASE {
            a.call(plain(), &source).await.unwrap();
            pass(Duration::from_millis(10)).await;
        }
    };
    within(15 * LEASE, ten_seconds).await;
    let (probes, most) = (asked() - before, began.elapsed().as_secs() * 2 + 11);
    assert!((10..=most).contains(&probes), "in {:?}: {probes}", began.elapsed());
    a.way.mend();
    until_up(&a, &source).await;
}

/// One caller probes; the others do not wait for it.
pub async fn p26_one_caller_probes(harness: &dyn Harness) {
    let a = harness.process();
    let source = Source::quick();
    a.way.cut();
    a.call(plain(), &source).await.unwrap();
    pass(LEASE).await;
    let gate = a.way.on(Method::Read).hold();
    let reads = a.way.calls()[Method::Read];
    let calls = a.spawn_many(50, plain(), &source);
    gate.reached().await;
    settle().await;
    assert_eq!(a.way.calls()[Method::Read] - reads, 1);
    assert_eq!(calls.iter().filter(|call| !call.is_finished()).count(), 1);
    // The prober goes away: another one takes its place.
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    drop(gate);
    a.way.mend();
    until_up(&a, &source).await;
}

/// An invalidation that failed is sent before the backend is used again.
pub async fn p26_a_failed_invalidation_is_sent_later(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.call(plain(), &source).await.unwrap();
    a.way.cut();
    source.set(2);
    assert!(a.flights.invalidate(KEY).await.is_err());
    assert_eq!(a.call(plain(), &source).await.unwrap(), 2, "gone here already");
    assert_eq!(b.call(plain(), &source).await.unwrap(), 1, "and not yet there");
    // The first attempt to send it again fails.
    a.way.on(Method::Invalidate).times(1).fail(BackendErrorKind::Unavailable);
    a.way.mend();
    source.set(3);
    until_up(&a, &Source::quick()).await;
    for process in [&a, &b] {
        assert_eq!(process.call(plain(), &source).await.unwrap(), 3);
    }
}

/// Also where it is the only step that failed.
pub async fn p26_an_invalidation_that_alone_failed_is_sent_later(harness: &dyn Harness) {
    for kind in [BackendErrorKind::Timeout, BackendErrorKind::Refused, BackendErrorKind::Protocol] {
        let (a, b) = (harness.process(), harness.process());
        let source = Source::quick();
        a.call(plain(), &source).await.unwrap();
        a.way.on(Method::Invalidate).times(1).fail(kind);
        source.set(2);
        assert!(a.flights.invalidate(KEY).await.is_err());
        assert_eq!(a.call(plain(), &source).await.unwrap(), 2, "{kind:?}: gone in this process");
        until_up(&a, &Source::quick()).await;
        pass(FOUND).await;
        for process in [&a, &b] {
            assert_eq!(process.call(plain(), &source).await.unwrap(), 2, "{kind:?}");
        }
        a.invalidate().await;
    }
}

/// The row of this number is about to be written; nobody waits for the end.
#[singleflight_core::invalidates(key = "row:<id>", flights = flights)]
async fn write(flights: &SingleFlight, id: u64) {
    std::future::pending::<()>().await;
}

/// A write that is dropped midway while the way is cut is invalidated all the same, later.
pub async fn p26_the_invalidation_of_a_dropped_write_is_sent_later(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    a.call(plain(), &source).await.unwrap();
    a.way.cut();
    a.call_key("other", plain(), &source).await.unwrap();
    source.set(2);
    let midway = tokio::time::timeout(LEASE / 100, write(&a.flights, 1));
    assert!(midway.await.is_err());
    a.way.mend();
    until_up(&a, &Source::quick()).await;
    for process in [&a, &b] {
        assert_eq!(process.call(plain(), &source).await.unwrap(), 2);
    }
}

/// An invalidation while the way is cut also voids what is being loaded without the backend.
pub async fn p26_an_invalidation_reaches_degraded_loads(harness: &dyn Harness) {
    let a = harness.process();
    let (old, new) = (Source::gated(), Source::quick());
    a.way.cut();
    let first = a.spawn(plain(), &old);
    old.began().await;
    new.set(2);
    assert!(a.flights.invalidate(KEY).await.is_err());
    assert_eq!(within(LEASE / 2, a.call(plain(), &new)).await.unwrap(), 2);
    old.let_through(1);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    assert_eq!(a.call(plain(), &new).await.unwrap(), 2);
}

/// A store without room: at most one load in each process, one after the other.
pub async fn p25_a_write_that_is_refused_time_and_again_does_not_stop_anyone(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::slow(LEASE / 10);
    a.way.on(Method::Publish).times(1000).fail(BackendErrorKind::Refused);
    b.way.on(Method::Publish).times(1000).fail(BackendErrorKind::Refused);
    for _ in 0..3 {
        let mut calls = a.spawn_many(20, plain(), &source);
        calls.extend(b.spawn_many(20, plain(), &source));
        all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
        harness.freed().await;
    }
    assert!(source.loads() <= 6 && source.most() == 1, "{} loads", source.loads());
}
