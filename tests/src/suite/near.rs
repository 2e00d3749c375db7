//! What copies in front of a backend may do, and what not.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::backend::{Changes, News};
use singleflight_core::control;
use singleflight_core::testing::{Method, Moment};

use crate::harness::{Harness, LEASE, Process, all, pass, plain, settle, soft, within};
use crate::source::Source;

/// How long a process that hears nothing keeps copies.
const UNHEARD: Duration = Duration::from_secs(5);

/// A process that keeps copies for up to a minute.
fn near(harness: &dyn Harness) -> Process {
    harness.process_with(|builder| builder.near(100, 60 * LEASE).near_unheard(UNHEARD))
}

/// What the call gives, and how many steps it asked of the backend.
async fn seen(process: &Process, source: &Arc<Source>) -> (u64, u64) {
    let before = process.way.calls().total();
    let value = process.call(soft(), source).await.unwrap();
    (value, process.way.calls().total() - before)
}

/// Waits until the process hears of changes, and has a copy.
async fn hears(process: &Process, source: &Arc<Source>) {
    let hears = || process.flights.statistics().near.unwrap().hears;
    let heard = async {
        loop {
            process.call(soft(), source).await.unwrap();
            if hears() {
                break;
            }
            pass(Duration::from_millis(1)).await;
        }
    };
    within(60 * LEASE, heard).await;
    // Whatever was kept before it heard is gone.
    process.call(soft(), source).await.unwrap();
}

/// Waits until the source's value is the one that the process sees.
async fn sees(process: &Process, source: &Arc<Source>, value: u64) {
    let seen = async {
        while process.call(soft(), source).await.unwrap() != value {
            pass(Duration::from_millis(1)).await;
        }
    };
    within(60 * LEASE, seen).await;
}

/// What is told to this process, for one more who listens.
async fn listen(process: &Process) -> Box<dyn Changes> {
    let mut changes = process.way.inner().changes("").expect("the process hears of changes");
    // What is still on its way from before may come first.
    within(60 * LEASE, async { while changes.next().await != News::Listening {} }).await;
    changes
}

/// Waits until the process must have heard of such a change, which may cross from server to server.
async fn hears_of(changes: &mut dyn Changes, change: impl Fn(&News) -> bool) {
    let told = async { while !change(&changes.next().await) {} };
    within(60 * LEASE, told).await;
    settle().await;
}

fn is_invalidation(news: &News) -> bool {
    matches!(news, News::Invalidated { .. })
}

/// A hit on a copy asks nothing of the backend, for whoever loaded the value and for whoever found it.
pub async fn p24_a_copy_costs_no_round_trip(harness: &dyn Harness) {
    let (a, b) = (near(harness), near(harness));
    let source = Source::quick();
    for process in [&a, &b] {
        hears(process, &source).await;
        let hits = process.flights.statistics().total;
        for _ in 0..10 {
            assert_eq!(seen(process, &source).await, (1, 0));
        }
        let now = process.flights.statistics().total;
        assert_eq!((now.near_hits - hits.near_hits, now.hits - hits.hits), (10, 10));
    }
    assert_eq!(source.loads(), 1);
}

/// A copy is gone with the soft TTL that the backend knows of, and at the latest with its own age.
pub async fn p18_a_copy_is_no_fresher_than_the_entry(harness: &dyn Harness) {
    let (a, b) = (near(harness), near(harness));
    let source = Source::quick();
    hears(&a, &source).await;
    pass(6 * LEASE).await;
    hears(&b, &source).await;
    source.set(2);
    pass(5 * LEASE).await;
    // Ten seconds have passed since the load, though fewer since the copy was made.
    assert_eq!(b.call(soft(), &source).await.unwrap(), 2);
}

/// Who invalidates sees no copy of what was there before; others see none once they have heard.
pub async fn p05_an_invalidation_drops_the_copies(harness: &dyn Harness) {
    let (a, b) = (near(harness), near(harness));
    let source = Source::quick();
    for value in 2..6 {
        for process in [&a, &b] {
            hears(process, &source).await;
        }
        source.set(value);
        a.invalidate().await;
        assert_eq!(a.call(soft(), &source).await.unwrap(), value);
        sees(&b, &source, value).await;
    }
}

/// So does a fill elsewhere.
pub async fn p05_a_fill_elsewhere_drops_the_copies(harness: &dyn Harness) {
    let (a, b) = (near(harness), near(harness));
    let source = Source::quick();
    let mut told = listen(&a).await;
    for process in [&a, &b] {
        hears(process, &source).await;
    }
    // Heard after the second fill, the first one would take its copy.
    hears_of(&mut *told, |news| matches!(news, News::Published { .. })).await;
    source.set(2);
    assert_eq!(control::refresh(a.call(soft(), &source)).await.unwrap(), 2);
    assert_eq!(seen(&a, &source).await, (2, 0), "its own fill is a copy");
    sees(&b, &source, 2).await;
}

/// An answer that is on its way while the key is invalidated does not become a copy.
pub async fn p05_an_answer_overtaken_by_an_invalidation_is_no_copy(harness: &dyn Harness) {
    let (a, b) = (near(harness), near(harness));
    let source = Source::quick();
    hears(&a, &source).await;
    hears(&b, &source).await;
    let mut told = listen(&b).await;
    for (by, value) in [(&a, 2), (&b, 3)] {
        a.invalidate().await;
        hears_of(&mut *told, is_invalidation).await;
        a.call(soft(), &source).await.unwrap();
        settle().await;
        let gate = b.way.on(Method::Read).at(Moment::After).hold();
        let reader = b.spawn(soft(), &source);
        gate.reached().await;
        source.set(value);
        by.invalidate().await;
        hears_of(&mut *told, is_invalidation).await;
        drop(gate);
        reader.await.unwrap().unwrap();
        assert_eq!(b.call(soft(), &source).await.unwrap(), value);
    }
}

/// A subscription that was lost takes the copies with it; until it is back they live for a moment.
pub async fn p05_a_lost_subscription_drops_the_copies(harness: &dyn Harness) {
    let (a, b) = (harness.process(), near(harness));
    let source = Source::quick();
    hears(&b, &source).await;
    b.way.set_deaf(true);
    settle().await;
    assert_eq!(seen(&b, &source).await, (1, 1), "the copy is gone");
    assert_eq!(seen(&b, &source).await, (1, 0), "and there is another");
    source.set(2);
    a.invalidate().await;
    pass(UNHEARD).await;
    assert_eq!(b.call(soft(), &source).await.unwrap(), 2, "which did not live long");
    b.way.set_deaf(false);
    settle().await;
    hears(&b, &source).await;
    assert_eq!(seen(&b, &source).await, (2, 0));
    assert!(b.flights.statistics().near.unwrap().flushes >= 3);
}

/// However many keys there are, no more copies are kept than were asked for.
pub async fn p23_copies_are_bounded(harness: &dyn Harness) {
    let a = near(harness);
    let source = Source::quick();
    for n in 0..1000 {
        a.call_key(&format!("row:{n}"), plain(), &source).await.unwrap();
    }
    let near = a.flights.statistics().near.unwrap();
    assert!(near.copies <= near.capacity + 100, "{near:?}");
}

/// Whoever asks for a new value, or for none of this, gets no copy.
pub async fn p24_copies_are_not_for_those_who_refresh_or_bypass(harness: &dyn Harness) {
    let a = near(harness);
    let source = Source::quick();
    hears(&a, &source).await;
    source.set(2);
    assert_eq!(control::bypass(a.call(soft(), &source)).await.unwrap(), 2);
    assert_eq!(a.call(soft(), &source).await.unwrap(), 1);
    assert_eq!(control::refresh(a.call(soft(), &source)).await.unwrap(), 2);
    let calls = a.spawn_many(10, soft(), &source);
    all(calls).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
}
