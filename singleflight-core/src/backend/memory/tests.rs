//! What is particular to this backend; what all backends share is in the conformance suite.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use super::*;
use crate::clock::ManualClock;
use crate::entry::{Payload, Stamp};

const KIND: Kind = Kind::new(7, 0);
const SECOND: Duration = Duration::from_secs(1);

/// Runs tests on each cache that entries can be kept in.
macro_rules! on_each_cache {
    ($($test:ident)*) => {
        mod moka { $(#[test] fn $test() { super::$test(super::Entries::moka); })* }
        #[cfg(feature = "quick")]
        mod quick { $(#[test] fn $test() { super::$test(super::Entries::quick); })* }
    };
}

on_each_cache! {
    a_values_drop_may_use_the_store
    a_values_drop_may_panic_and_the_key_works_afterwards
    capacity_makes_misses_and_never_a_wrong_value
    without_capacity_nothing_is_kept
    a_new_value_takes_the_place_of_the_old_one
    expired_entries_are_freed_as_others_are_stored
    an_expired_entry_is_freed_when_its_key_is_asked_for
    ends_are_over_when_they_come
    entries_are_counted
    a_shard_is_swept_after_as_many_additions_as_it_keeps
    a_shard_is_swept_once_a_minute
    what_was_evicted_is_looked_for_where_there_are_more_than_the_share
    rows_of_failures_are_swept_with_the_entries
}

type Cache = fn(u64) -> Entries;

fn store(capacity: u64) -> (MemoryBackend, ManualClock) {
    store_in(Entries::moka, capacity)
}

fn store_in(entries: Cache, capacity: u64) -> (MemoryBackend, ManualClock) {
    let (clock, hand) = Clock::manual();
    let builder = MemoryBackend::builder().capacity(capacity).clock(clock);
    (MemoryBuilder { entries, ..builder }.build(), hand)
}

fn put(store: &MemoryBackend, key: &str, value: impl Any + Send + Sync) -> Published {
    let token = Token::random();
    let asked = store.shared.acquire(&Acquire::new(key, token, SECOND, KIND).forced(true));
    assert_eq!(asked, Acquired::Granted);
    let stamp = Stamp::new(KIND, 0, Duration::ZERO, token);
    let payload = Payload::Value(Arc::new(value));
    store.shared.publish(Publish::new(key, token, payload, stamp, 10 * SECOND, 20 * SECOND))
}

fn fail(store: &MemoryBackend, key: &str) {
    let token = Token::random();
    assert_eq!(store.shared.acquire(&Acquire::new(key, token, SECOND, KIND)), Acquired::Granted);
    assert_eq!(store.shared.abandon(&Abandon::new(key, token).failed("no", Duration::ZERO)), Released::Freed);
}

/// A value whose `Drop` uses the store it was in, under its own key.
struct Meddler {
    store: MemoryBackend,
    key: &'static str,
    drops: Arc<AtomicUsize>,
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.store.peek(self.key);
        self.store.shared.invalidate(self.key);
        self.store.shared.abandon(&Abandon::new(self.key, Token::random()));
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

fn a_values_drop_may_use_the_store(cache: Cache) {
    let (store, hand) = store_in(cache, 1);
    let drops = Arc::new(AtomicUsize::new(0));
    let meddler = |key| Meddler { store: store.clone(), key, drops: drops.clone() };
    // moka lets go when it sees fit, often in the middle of a later call: hence many rounds, all on one key's lock.
    for _ in 0..2_000 {
        put(&store, "a", meddler("a"));
        put(&store, "a", meddler("a"));
        store.shared.invalidate("a");
        put(&store, "a", meddler("a"));
        hand.advance(30 * SECOND);
        assert!(store.peek("a").is_none());
    }
    assert!(drops.load(Ordering::SeqCst) > 2_000);
}

/// Goes off in its own test alone: what moka lets go of is collected for the whole process, by whichever thread comes
/// along, and that may be another test's.
struct Grenade {
    armed: Arc<AtomicBool>,
    thread: ThreadId,
}

impl Drop for Grenade {
    fn drop(&mut self) {
        let here = thread::current().id() == self.thread && self.armed.load(Ordering::SeqCst);
        assert!(!here, "a value that panics when dropped");
    }
}

fn a_values_drop_may_panic_and_the_key_works_afterwards(cache: Cache) {
    let (store, _hand) = store_in(cache, 10);
    let armed = Arc::new(AtomicBool::new(true));
    put(&store, "a", Grenade { armed: armed.clone(), thread: thread::current().id() });
    for _ in 0..1000 {
        // moka lets go when it sees fit; so that it does within this test, it is given a lot to do.
        let _ = catch_unwind(AssertUnwindSafe(|| store.shared.invalidate("a")));
        let _ = catch_unwind(AssertUnwindSafe(|| put(&store, "other", 0_u8)));
        let _ = catch_unwind(AssertUnwindSafe(|| store.entries()));
    }
    armed.store(false, Ordering::SeqCst);
    assert_eq!(put(&store, "a", 1_u8), Published::Stored);
    assert!(store.peek("a").is_some());
}

fn capacity_makes_misses_and_never_a_wrong_value(cache: Cache) {
    let (store, _hand) = store_in(cache, 8);
    for n in 0..200_u32 {
        assert_eq!(put(&store, &n.to_string(), n), Published::Stored);
    }
    assert!(store.entries() <= 8);
    for n in 0..200_u32 {
        let Some(entry) = store.peek(&n.to_string()) else { continue };
        let Payload::Value(value) = entry.payload else { panic!("{entry:?}") };
        assert_eq!(value.downcast_ref(), Some(&n));
    }
}

fn without_capacity_nothing_is_kept(cache: Cache) {
    let (store, _hand) = store_in(cache, 0);
    for n in 0..100 {
        assert_eq!(put(&store, "a", n), Published::Stored);
    }
    assert_eq!(store.entries(), 0);
    assert!(store.peek("a").is_none());
}

fn a_new_value_takes_the_place_of_the_old_one(cache: Cache) {
    let (store, _hand) = store_in(cache, 2);
    let mut seen = 0;
    for n in 0..1000_u32 {
        put(&store, "a", n);
        // Others crowd it out now and then.
        put(&store, &format!("other:{n}"), 0_u32);
        let Some(entry) = store.peek("a") else { continue };
        let Payload::Value(value) = entry.payload else { panic!("{entry:?}") };
        assert_eq!(value.downcast_ref(), Some(&n));
        seen += 1;
    }
    assert!(seen > 100, "{seen} of 1000 were there");
}

fn expired_entries_are_freed_as_others_are_stored(cache: Cache) {
    let (store, hand) = store_in(cache, 100_000);
    (0..5_000).for_each(|n| assert_eq!(put(&store, &format!("old:{n}"), n), Published::Stored));
    hand.advance(60 * SECOND);
    (0..5_000).for_each(|n| assert_eq!(put(&store, &format!("new:{n}"), n), Published::Stored));
    assert!(store.entries() < 5_100, "{}", store.entries());
}

fn an_expired_entry_is_freed_when_its_key_is_asked_for(cache: Cache) {
    let (store, hand) = store_in(cache, 10);
    put(&store, "a", 1_u8);
    hand.advance(20 * SECOND);
    store.shared.acquire(&Acquire::new("a", Token::random(), SECOND, KIND));
    assert_eq!(store.entries(), 0);
}

#[test]
fn p23_rows_of_failures_that_nobody_asked_about_again_are_bounded() {
    let (store, hand) = store(10);
    for n in 0..50_000 {
        fail(&store, &n.to_string());
        hand.advance(Duration::from_millis(10));
    }
    let residue = store.residue();
    assert!(residue.failures <= 100 && residue.leases == 0, "{residue:?}");
    assert!(residue.rows <= Shared::SHARDS * 65 + 100, "{residue:?}");
}

#[tokio::test]
async fn p23_nothing_is_left_of_a_flight_but_its_entry() {
    let (store, _hand) = store(10);
    let watches = [store.watch("a").await.unwrap(), store.watch("a").await.unwrap()];
    put(&store, "a", 1_u8);
    assert_eq!(store.residue().watches, 2);
    drop(watches);
    assert_eq!(store.residue(), Residue::default());
}

#[tokio::test]
async fn p23_what_a_failure_leaves_goes_with_the_next_use_of_the_key() {
    let (store, hand) = store(10);
    fail(&store, "a");
    assert_eq!(store.residue().failures, 1);
    hand.advance(SECOND);
    put(&store, "a", 1_u8);
    assert_eq!(store.residue(), Residue::default());
}

#[tokio::test]
async fn a_listener_that_lags_is_told_so() {
    let (store, _hand) = store(10);
    let mut changes = store.changes("a").unwrap();
    assert_eq!(changes.next().await, News::Listening);
    (0..=Shared::FEED).for_each(|_| assert_eq!(put(&store, "a", 1_u8), Published::Stored));
    assert_eq!(changes.next().await, News::Listening);
    assert_eq!(changes.next().await.key().map(|key| &**key), Some("a"));
}

#[tokio::test]
async fn a_listener_hears_of_its_own_prefix_alone() {
    let (store, _hand) = store(10);
    let mut changes = store.changes("b").unwrap();
    assert_eq!(changes.next().await, News::Listening);
    put(&store, "a", 1_u8);
    store.invalidate("ba").await.unwrap();
    assert_eq!(changes.next().await, News::Invalidated { key: "ba".into() });
}

#[test]
fn absurd_ttls_are_harmless() {
    let (store, _hand) = store(10);
    let token = Token::random();
    store.shared.acquire(&Acquire::new("a", token, Duration::MAX, KIND));
    let stamp = Stamp::new(KIND, 0, Duration::ZERO, token);
    let payload = Payload::Value(Arc::new(()));
    store.shared.publish(Publish::new("a", token, payload, stamp, Duration::MAX, SECOND));
    let entry = store.peek("a").unwrap();
    assert_eq!((entry.fresh_for(), entry.gone_in()), (SECOND, SECOND));
}

/// Each end is exclusive: at the very moment it is over.
fn ends_are_over_when_they_come(cache: Cache) {
    let (store, hand) = store_in(cache, 100);
    assert_eq!(put(&store, "k", 1), Published::Stored);
    let ask = |token| store.shared.acquire(&Acquire::new("k", token, SECOND, KIND));
    hand.advance(10 * SECOND);
    let (first, second) = (Token::random(), Token::random());
    assert_eq!(ask(first), Acquired::Granted, "stale");
    hand.advance(SECOND);
    assert_eq!(store.shared.lock("k").renew("k", first, SECOND, store.shared.clock.now()), Renewed::Lost);
    assert_eq!(ask(second), Acquired::Granted, "the lease has ended");
    let newer = Kind::new(KIND.identity, 1);
    let publish = |kind, token| {
        let stamp = Stamp::new(kind, 0, Duration::ZERO, token);
        store.shared.publish(Publish::new("k", token, Payload::Value(Arc::new(2)), stamp, SECOND, 2 * SECOND))
    };
    assert_eq!(publish(newer, second), Published::Stored);
    assert_eq!(ask(first), Acquired::Granted);
    assert_eq!(publish(KIND, first), Published::Refused, "a later version is there");
    hand.advance(2 * SECOND - Duration::from_millis(1));
    assert_eq!(ask(first), Acquired::Granted);
    hand.advance(Duration::from_millis(1));
    assert_eq!(publish(KIND, first), Published::Stored, "and now is gone");
    hand.advance(2 * SECOND);
    assert_eq!(store.shared.invalidate("k"), Invalidated::Absent);
}

fn entries_are_counted(cache: Cache) {
    let (store, _hand) = store_in(cache, 100);
    for n in 0..5 {
        put(&store, &format!("k{n}"), n);
    }
    assert_eq!((store.entries(), store.count()), (5, 5));
    store.shared.invalidate("k1");
    assert_eq!((store.entries(), store.count()), (4, 4));
}

/// A shard and the entries that it looks after.
struct Ward {
    shard: Shard,
    entries: Entries,
    start: Instant,
}

impl Ward {
    fn new(cache: Cache) -> Self {
        Self { shard: Shard::default(), entries: cache(10_000), start: Instant::now() }
    }

    fn at(&self, seconds: u32) -> Instant {
        self.start + seconds * SECOND
    }

    /// Stores an entry that is gone at the end of this second.
    fn add(&mut self, key: &str, second: u32) {
        let (key, hard): (Arc<str>, _) = (key.into(), self.at(second));
        let stamp = Stamp::new(KIND, 0, Duration::ZERO, Token::random());
        self.shard.remember(key.clone(), hard);
        self.entries.insert(key, Stored::new(Payload::Value(Arc::new(())), stamp, hard, hard));
    }

    /// What is there in a second, after a sweep if one is due.
    fn has(&mut self, key: &str, second: u32) -> bool {
        self.shard.sweep_if_due(self.at(second), &self.entries);
        let remembered = self.shard.remembers(key);
        assert_eq!(remembered, self.entries.contains(key), "{key}");
        remembered
    }
}

fn a_shard_is_swept_after_as_many_additions_as_it_keeps(cache: Cache) {
    let mut ward = Ward::new(cache);
    ward.add("dead", 1);
    for n in 0..62 {
        ward.add(&format!("a{n}"), 1000);
        assert!(ward.has("dead", 2), "63 are too few");
    }
    ward.add("a62", 1000);
    assert!(!ward.has("dead", 2) && ward.has("a0", 2), "64 are enough");
    for n in 0..64 {
        ward.add(&format!("b{n}"), 1000);
    }
    assert!(ward.has("a0", 2), "127 are kept");
    ward.add("dead", 1);
    for n in 0..125 {
        ward.add(&format!("c{n}"), 1000);
        assert!(ward.has("dead", 2), "126 are too few now");
    }
    ward.add("c125", 1000);
    assert!(!ward.has("dead", 2));
}

fn a_shard_is_swept_once_a_minute(cache: Cache) {
    let mut ward = Ward::new(cache);
    ward.add("dead", 1);
    ward.add("evicted", 1000);
    assert!(ward.has("dead", 0) && ward.has("dead", 59), "a minute from the first look");
    ward.entries.drop("evicted");
    assert!(!ward.has("dead", 60) && !ward.has("evicted", 60));
    ward.add("dead", 61);
    assert!(ward.has("dead", 119), "a minute from the last one");
    assert!(!ward.has("dead", 120));
}

fn what_was_evicted_is_looked_for_where_there_are_more_than_the_share(cache: Cache) {
    let mut ward = Ward { shard: Shard::new(2), ..Ward::new(cache) };
    let sweep = |ward: &mut Ward, second| {
        ward.shard.sweep_if_due(ward.at(second), &ward.entries);
        ward.shard.remembers("evicted")
    };
    ward.add("evicted", 1000);
    ward.entries.drop("evicted");
    ward.add("a", 1000);
    assert!(sweep(&mut ward, 0) && sweep(&mut ward, 60), "two are its share");
    ward.add("b", 1000);
    assert!(!sweep(&mut ward, 120) && ward.has("a", 120) && ward.has("b", 120));
}

fn rows_of_failures_are_swept_with_the_entries(cache: Cache) {
    let mut ward = Ward::new(cache);
    let rows = |ward: &Ward, second| {
        let mut residue = Residue::default();
        ward.shard.count(ward.at(second), &mut residue);
        residue.rows
    };
    for n in 0..64 {
        let now = ward.at(0);
        ward.shard.fail(&format!("k{n}"), Token::random(), Some("no".into()), Duration::ZERO, now);
    }
    assert_eq!(rows(&ward, 0), 64);
    assert!(!ward.has("k0", 10));
    assert_eq!(rows(&ward, 10), 0);
}

#[test]
fn what_is_let_go_in_a_hold_is_dropped_when_the_outermost_ends() {
    let value = Arc::new(());
    let let_go = || {
        let stamp = Stamp::new(KIND, 0, Duration::ZERO, Token::random());
        drop(Stored::new(Payload::Value(value.clone()), stamp, Instant::now(), Instant::now()));
    };
    let held = || Arc::strong_count(&value) - 1;
    let outer = Hold::begin();
    let_go();
    let inner = Hold::begin();
    let_go();
    drop(inner);
    assert_eq!(held(), 2, "the outer one goes on");
    drop(outer);
    assert_eq!(held(), 0);
    drop(Hold::begin());
    let_go();
    assert_eq!(held(), 0, "at once where nothing is held");
}
