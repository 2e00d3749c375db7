//! A way that is disturbed, without an engine.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use singleflight_core::Clock;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Change, LeaseBackend, News, Note, Publish, Published, Released, Token,
};
use singleflight_core::entry::{Kind, Payload, Stamp};
use singleflight_core::error::{BackendError, BackendErrorKind};
use singleflight_core::testing::{BytesBackend, FaultyBackend, Method, Moment};

const KIND: Kind = Kind::new(1, 0);
const MINUTE: Duration = Duration::from_secs(60);

fn store() -> Arc<BytesBackend> {
    Arc::new(BytesBackend::new(Clock::default()))
}

fn way() -> FaultyBackend {
    FaultyBackend::around(store())
}

async fn take(backend: &dyn LeaseBackend, key: &str) -> Result<Token, BackendError> {
    let token = Token::random();
    assert_eq!(backend.acquire(Acquire::new(key, token, MINUTE, KIND)).await?, Acquired::Granted);
    Ok(token)
}

async fn put(backend: &dyn LeaseBackend, key: &str) -> Result<Published, BackendError> {
    let token = take(backend, key).await?;
    let stamp = Stamp::new(KIND, 1, Duration::ZERO, token);
    let payload = Payload::Bytes(Bytes::from_static(b"value"));
    backend.publish(Publish::new(key, token, payload, stamp, MINUTE, 2 * MINUTE)).await
}

async fn reads(backend: &dyn LeaseBackend, key: &str) -> Result<bool, BackendErrorKind> {
    backend.read(key).await.map(|entry| entry.is_some()).map_err(|error| error.kind())
}

#[tokio::test]
async fn a_lost_answer_is_of_a_step_that_was_done() {
    let way = way();
    way.on(Method::Publish).times(1).lose();
    assert_eq!(put(&way, "k").await.unwrap_err().kind(), BackendErrorKind::Timeout);
    assert_eq!(reads(&way, "k").await, Ok(true));
}

#[tokio::test]
async fn a_failed_step_was_not_done_and_is_counted() {
    let way = way();
    let before = way.calls();
    way.on(Method::Publish).times(1).fail(BackendErrorKind::Refused);
    let error = put(&way, "k").await.unwrap_err();
    assert_eq!(error.to_string(), "backend refused: the test asked for it, on `publish`");
    assert_eq!(reads(&way, "k").await, Ok(false));
    let calls = way.calls().since(&before);
    assert_eq!((calls[Method::Publish], calls[Method::Read], calls.total()), (1, 1, 3));
}

#[tokio::test]
async fn faults_strike_when_their_turn_has_come() {
    let way = way();
    way.on(Method::Read).skip(1).times(2).fail(BackendErrorKind::Timeout);
    way.on_any().skip(2).times(1).fail(BackendErrorKind::Protocol);
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(reads(&way, "k").await);
    }
    let (none, timeout) = (Ok(false), Err(BackendErrorKind::Timeout));
    let protocol = Err(BackendErrorKind::Protocol);
    assert_eq!(seen, [none, timeout, timeout, none, protocol], "one call is struck by one fault");
    assert_eq!(reads(&way, "k").await, none);
}

#[tokio::test]
async fn a_fault_without_an_end_strikes_until_cleared() {
    let way = way();
    way.on(Method::Read).fail(BackendErrorKind::Unavailable);
    for _ in 0..100 {
        assert_eq!(reads(&way, "k").await, Err(BackendErrorKind::Unavailable));
    }
    way.clear();
    assert_eq!(reads(&way, "k").await, Ok(false));
}

#[tokio::test]
async fn a_gate_stops_a_step_on_either_side() {
    let way = Arc::new(way());
    for (moment, done) in [(Moment::Before, false), (Moment::After, true)] {
        let gate = way.on(Method::Publish).at(moment).hold();
        let key = format!("{moment:?}");
        let task = tokio::spawn({
            let (way, key) = (way.clone(), key.clone());
            async move { put(&*way, &key).await }
        });
        gate.reached().await;
        assert_eq!(way.under_way(), 0);
        assert_eq!(reads(&*way, &key).await, Ok(done));
        gate.release();
        assert_eq!(task.await.unwrap().unwrap(), Published::Stored);
    }
}

#[tokio::test]
async fn clearing_opens_gates() {
    let way = Arc::new(way());
    let gate = way.on(Method::Read).times(1).hold();
    let held = tokio::spawn({
        let way = way.clone();
        async move { reads(&*way, "k").await }
    });
    gate.reached().await;
    assert_eq!(reads(&*way, "k").await, Ok(false), "one was to be held");
    way.clear();
    assert_eq!(held.await.unwrap(), Ok(false));
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "no call has come to the Gate { method: Some(Read)")]
async fn a_gate_that_nobody_comes_to_is_told() {
    let way = way();
    way.on(Method::Read).hold().reached().await;
}

#[tokio::test]
async fn a_delay_goes_by_the_clock_of_the_way() {
    let (clock, hand) = Clock::manual();
    let way = way().clock(clock);
    way.on(Method::Read).times(1).delay(Duration::from_secs(2));
    let mut read = pin!(reads(&way, "k"));
    for seconds in [0, 1] {
        hand.advance(Duration::from_secs(seconds));
        let waits = tokio::select! { biased; _ = &mut read => false, () = tokio::task::yield_now() => true };
        assert!(waits, "after {seconds} s");
    }
    hand.advance(Duration::from_secs(1));
    assert_eq!(read.await, Ok(false));
    assert_eq!(reads(&way, "k").await, Ok(false));
}

#[tokio::test]
async fn a_way_that_is_cut_carries_nothing() {
    let store = store();
    let (ours, theirs) = (FaultyBackend::around(store.clone()), FaultyBackend::around(store));
    let token = take(&ours, "k").await.unwrap();
    ours.cut();
    assert!(ours.is_cut() && !theirs.is_cut());
    assert_eq!(reads(&ours, "k").await, Err(BackendErrorKind::Unavailable));
    ours.post(Note::Abandon { key: "k".into(), token, failure: None, cooldown: Duration::ZERO });
    let other = theirs.acquire(Acquire::new("k", Token::random(), MINUTE, KIND)).await.unwrap();
    assert!(matches!(other, Acquired::Held { .. }), "what is posted is lost: {other:?}");
    ours.mend();
    assert_eq!(ours.abandon(Abandon::new("k", token)).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn an_answer_on_its_way_when_the_way_is_cut_is_lost() {
    let way = Arc::new(way());
    let gate = way.on(Method::Publish).at(Moment::After).hold();
    let publishing = tokio::spawn({
        let way = way.clone();
        async move { put(&*way, "k").await.map_err(|error| error.kind()) }
    });
    gate.reached().await;
    way.cut();
    gate.release();
    assert_eq!(publishing.await.unwrap(), Err(BackendErrorKind::Timeout));
    way.mend();
    assert_eq!(reads(&*way, "k").await, Ok(true));
}

#[tokio::test]
async fn who_is_cut_off_hears_nothing_and_then_that_something_was_missed() {
    let store = store();
    let (ours, theirs) = (FaultyBackend::around(store.clone()), FaultyBackend::around(store));
    let mut watch = ours.watch("k").await.unwrap();
    let mut feed = ours.changes("").unwrap();
    assert_eq!(feed.next().await, News::Listening);
    put(&theirs, "k").await.unwrap();
    assert_eq!(watch.changed().await, Change::Published);
    assert!(matches!(feed.next().await, News::Published { .. }));

    ours.cut();
    theirs.invalidate("k").await.unwrap();
    assert_eq!(feed.next().await, News::Deaf);
    let silent = tokio::select! {
        biased;
        _ = watch.changed() => false,
        _ = feed.next() => false,
        () = tokio::task::yield_now() => true,
    };
    assert!(silent);

    ours.mend();
    assert_eq!((watch.changed().await, feed.next().await), (Change::Unknown, News::Listening));
    theirs.invalidate("k").await.unwrap();
    assert_eq!(watch.changed().await, Change::Invalidated);
    assert_eq!(feed.next().await, News::Invalidated { key: "k".into() });
}

#[tokio::test]
async fn a_feed_that_was_deaf_for_a_moment_says_so() {
    let way = way();
    let mut feed = way.changes("").unwrap();
    assert_eq!(feed.next().await, News::Listening);
    way.set_deaf(true);
    way.set_deaf(false);
    assert_eq!(feed.next().await, News::Listening);
}

#[tokio::test]
async fn a_feed_that_begins_deaf_listens_first_when_it_is_not() {
    let way = way();
    way.set_deaf(true);
    let mut feed = way.changes("").unwrap();
    let silent = tokio::select! { biased; _ = feed.next() => false, () = tokio::task::yield_now() => true };
    assert!(silent);
    way.set_deaf(false);
    assert_eq!(feed.next().await, News::Listening);
}

#[tokio::test]
async fn posts_can_fail_and_not_be_held() {
    let way = way();
    put(&way, "k").await.unwrap();
    way.on(Method::Post).times(1).fail(BackendErrorKind::Unavailable);
    way.post(Note::Invalidate { key: "k".into() });
    assert_eq!(reads(&way, "k").await, Ok(true));
    way.post(Note::Invalidate { key: "k".into() });
    assert_eq!(reads(&way, "k").await, Ok(false));
    let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| way.on(Method::Post).hold()));
    assert!(held.is_err());
}
