//! P5, P6, P8, P15 for fills that are tasks of their own: what is invalidated, and what fails.

use std::sync::Arc;

use singleflight_core::FlightErrorKind;
use tokio::task::JoinHandle;

use super::spawned::{call, calls, leave_stale};
use crate::harness::{HELD, Harness, LEASE, Process, all, pass, settle, within};
use crate::source::{LoadError, Source};

/// How a call is made.
pub(super) type Call = fn(&Process, &Arc<Source>) -> JoinHandle<Result<u64, LoadError>>;

/// A load that read 1 is under way in `a`; the row becomes 2, and `by` invalidates. Nobody who comes afterwards, in
/// either process, sees 1: neither before that load ends nor after.
pub(super) async fn nobody_sees_it_later(
    call: Call,
    (a, b): (&Process, &Process),
    by: &Process,
    old: &Arc<Source>,
) {
    let new = Source::quick();
    new.set(2);
    by.invalidate().await;
    for process in [by, a, b] {
        assert_eq!(within(5 * LEASE, call(process, &new)).await.unwrap().unwrap(), 2, "before it ends");
    }
    old.let_through(1);
    settle().await;
    for process in [a, b] {
        assert_eq!(call(process, &new).await.unwrap().unwrap(), 2, "after it ended");
    }
    assert_eq!((old.loads(), new.loads()), (1, 1), "and one of them loaded, for all");
    a.invalidate().await;
}

/// A task that fills, begun before an invalidation: with its caller waiting, and after it went away.
pub async fn p05_a_spawned_fill_begun_before_is_never_seen_after(harness: &dyn Harness) {
    for (remote, orphaned) in [(false, false), (false, true), (true, false), (true, true)] {
        let (a, b) = (harness.process(), harness.process());
        let old = Source::gated();
        let first = call(&a, &old);
        old.began().await;
        if orphaned {
            first.abort();
        }
        nobody_sees_it_later(call, (&a, &b), if remote { &b } else { &a }, &old).await;
        match first.await {
            Ok(result) => assert_eq!(result.unwrap(), 1, "its own caller came before"),
            Err(error) => assert!(orphaned && error.is_cancelled()),
        }
    }
}

/// The same for a refresh, whose caller had the stale copy: *FusionCache #628*.
pub async fn p05_a_spawned_refresh_begun_before_is_never_seen_after(harness: &dyn Harness) {
    for remote in [false, true] {
        let (a, b) = (harness.process(), harness.process());
        let old = Source::gated();
        leave_stale(&a).await;
        assert_eq!(within(LEASE / 4, call(&a, &old)).await.unwrap().unwrap(), 1);
        old.began().await;
        nobody_sees_it_later(call, (&a, &b), if remote { &b } else { &a }, &old).await;
    }
}

/// A refresh that fails after an invalidation does not bring the stale copy back.
pub async fn p05_a_stale_copy_does_not_survive_an_invalidation_of_its_spawned_refresh(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (old, new) = (Source::gated(), Source::quick());
    leave_stale(&a).await;
    assert_eq!(call(&a, &old).await.unwrap().unwrap(), 1);
    old.began().await;
    b.invalidate().await;
    old.fail(true);
    old.let_through(1);
    settle().await;
    new.set(2);
    for process in [&a, &b] {
        assert_eq!(within(LEASE, call(process, &new)).await.unwrap().unwrap(), 2);
    }
}

/// Who comes after an invalidation never joins the older task.
pub async fn p06_newcomers_do_not_join_an_older_spawned_fill(harness: &dyn Harness) {
    let a = harness.process();
    let (old, new) = (Source::gated(), Source::gated());
    let first = call(&a, &old);
    old.began().await;
    let early = call(&a, &old);
    settle().await;
    a.invalidate().await;
    new.set(2);
    let later = calls(5, &a, &new);
    new.began().await;
    settle().await;
    new.let_through(1);
    all(later).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
    assert_eq!(new.loads(), 1, "they share one load of their own");
    old.let_through(1);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    // It came before: it may have either.
    assert!((1..=2).contains(&early.await.unwrap().unwrap()));
    assert_eq!((old.loads(), a.flights.in_progress()), (1, 0));
}

/// When the publish of a task is refused, those who waited look again.
pub async fn p06_followers_of_a_refused_spawned_publish_look_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let first = call(&a, &source);
    source.began().await;
    b.invalidate().await;
    source.set(2);
    // They cannot know that it was invalidated, and join the older flight.
    let others = calls(5, &a, &source);
    settle().await;
    source.let_through(2);
    assert_eq!(within(LEASE, first).await.unwrap().unwrap(), 1);
    all(others).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
    assert_eq!(source.loads(), 2);
}

/// A task that ends without a value, in one of these ways.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Error,
    Panic,
}

impl Fault {
    const ALL: [Self; 2] = [Self::Error, Self::Panic];

    fn set(self, source: &Source, on: bool) {
        match self {
            Self::Error => source.fail(on),
            Self::Panic => source.panic(on),
        }
    }
}

/// The lease is freed at once when a task fails or panics, whether or not its caller is still there.
pub async fn p08_a_spawned_fill_without_a_value_frees_the_lease(harness: &dyn Harness) {
    for fault in Fault::ALL {
        for orphaned in [false, true] {
            let (a, b) = (harness.process(), harness.process());
            let source = Source::gated();
            let first = call(&a, &source);
            source.began().await;
            if orphaned {
                first.abort();
                settle().await;
            }
            assert_eq!(harness.leases().await, 1, "the task has it");
            fault.set(&source, true);
            source.let_through(1);
            let ended = within(LEASE, first).await;
            assert!(!matches!(ended, Ok(Ok(_))), "{fault:?}: {ended:?}");
            harness.freed().await;
            fault.set(&source, false);
            source.let_through(1);
            let next = within(LEASE / 2, call(&b, &source)).await;
            assert_eq!(next.unwrap().unwrap(), 1, "another process need not wait");
            a.invalidate().await;
        }
    }
}

/// The same for a refresh, of which nobody waits for the end.
pub async fn p08_a_spawned_refresh_without_a_value_frees_the_lease(harness: &dyn Harness) {
    for fault in Fault::ALL {
        let a = harness.process();
        let source = Source::gated();
        leave_stale(&a).await;
        assert_eq!(call(&a, &source).await.unwrap().unwrap(), 1);
        source.began().await;
        fault.set(&source, true);
        source.let_through(1);
        harness.freed().await;
        assert_eq!(a.flights.in_progress(), 0, "{fault:?}");
        a.invalidate().await;
    }
}

/// One task fails; its error for everyone who waits, by clone here and with its message elsewhere.
pub async fn p15_one_failed_spawned_fill_answers_everyone(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let mut here = vec![call(&a, &source)];
    source.began().await;
    here.extend(calls(20, &a, &source));
    let there = calls(20, &b, &source);
    settle().await;
    source.fail(true);
    source.let_through(1);
    for result in all(here).await {
        assert!(matches!(result, Err(LoadError::NoRow)), "{result:?}");
    }
    for result in all(there).await {
        let Err(LoadError::Flight(error)) = result else { panic!("{result:?}") };
        assert_eq!((error.kind(), error.message()), (FlightErrorKind::LoadFailed, Some("no such row")));
    }
    assert_eq!(source.loads(), 1);
}

/// A refresh that fails or panics leaves the copy, and is not repeated for one lease TTL.
pub async fn p15_a_failed_spawned_refresh_keeps_the_stale_copy(harness: &dyn Harness) {
    for fault in Fault::ALL {
        let (a, b) = (harness.process(), harness.process());
        let source = Source::quick();
        leave_stale(&a).await;
        fault.set(&source, true);
        for _ in 0..5 {
            for process in [&a, &b] {
                let answer = within(LEASE / 4, call(process, &source)).await;
                assert_eq!(answer.unwrap().unwrap(), 1, "{fault:?}");
            }
            pass(LEASE / 10).await;
        }
        assert_eq!(source.loads(), 1, "{fault:?}: not repeated for one lease TTL");
        let stale = [&a, &b].map(|process| process.flights.statistics().total.stale);
        assert_eq!(stale.iter().sum::<u64>(), 10, "{fault:?}: each answer is counted once");
        pass(HELD).await;
        fault.set(&source, false);
        source.set(2);
        assert_eq!(call(&b, &source).await.unwrap().unwrap(), 1, "{fault:?}: then it is");
        harness.freed().await;
        for process in [&a, &b] {
            assert_eq!(call(process, &source).await.unwrap().unwrap(), 2, "{fault:?}");
        }
        assert_eq!(source.loads(), 2);
        a.invalidate().await;
    }
}
