//! The in-process backend: values in a cache, leases beside them.

mod entries;
#[cfg(any(test, feature = "test-util"))]
mod residue;
mod shard;
mod stored;
mod watch;

use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::broadcast;

use self::entries::Entries;
#[cfg(any(test, feature = "test-util"))]
pub use self::residue::Residue;
use self::shard::Shard;
pub(crate) use self::stored::Hold;
use self::stored::Stored;
use self::watch::{MemoryChanges, MemoryWatch};
use super::{
    Abandon, Acquire, Acquired, Changes, Invalidated, LeaseBackend, Medium, News, Note, Publish, Published,
    Released, Renewed, Token, Watch,
};
use crate::clock::{Clock, far};
use crate::entry::{Entry, Kind, Payload, Stamp};
use crate::error::BackendError;
use crate::hashing::Hasher;

/// Keeps values in this process, shared and never serialized, bounded by their number.
///
/// Cheap to clone; clones are the same store. Several engines on one store behave like several processes on one
/// server.
///
/// TTLs are decided by this backend's [`Clock`], exactly. Where there are too many entries, those least likely to be
/// asked for again make room; what is lost that way is loaded again and never wrong.
///
/// A value is dropped in the call in which the cache lets go of it, which may be one of another key: a `Drop` that panics
/// does so there.
///
/// # How it keeps its word
///
/// - A key's lease, its failure and its watchers live in one of many shards, each behind a mutex. Whoever changes an
///   entry in the cache holds the mutex of its key, so entry and lease change in one step. Readers of entries take no
///   lock of ours.
/// - Nothing foreign runs under a mutex: no waker (they are called afterwards) and no user's `Drop` (values that the
///   cache lets go of meanwhile are dropped afterwards), since either may call back into the store.
/// - Nothing waits under a mutex: every step is synchronous.
#[derive(Clone)]
pub struct MemoryBackend {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    entries: Entries,
    shards: Box<[Mutex<Shard>]>,
    hasher: Hasher,
    /// Made by the first who listens.
    feed: OnceLock<broadcast::Sender<News>>,
}

/// Makes a [`MemoryBackend`].
#[derive(Clone, Debug)]
pub struct MemoryBuilder {
    capacity: u64,
    clock: Clock,
    entries: fn(u64) -> Entries,
}

impl MemoryBuilder {
    /// Keeps at most about so many entries; 10,000 unless set. None at all where it is zero: calls are still coalesced.
    ///
    /// moka evicts a few calls later than it stores, so that there may be some dozens more for a moment.
    #[must_use]
    pub fn capacity(mut self, entries: u64) -> Self {
        self.capacity = entries;
        self
    }

    /// Takes the time from this clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Keeps entries in `quick_cache` instead of moka: hits and loads are quicker.
    ///
    /// The capacity is divided evenly among its parts, as many as four for each core, so that a few entries may have to go
    /// before as many as it allows are there.
    #[cfg(feature = "quick")]
    #[cfg_attr(docsrs, doc(cfg(feature = "quick")))]
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.entries = Entries::quick;
        self
    }

    /// The backend.
    #[must_use]
    pub fn build(self) -> MemoryBackend {
        let share = usize::try_from(self.capacity).unwrap_or(usize::MAX) / Shared::SHARDS;
        MemoryBackend {
            shared: Arc::new(Shared {
                clock: self.clock,
                entries: (self.entries)(self.capacity),
                shards: (0..Shared::SHARDS).map(|_| Mutex::new(Shard::new(share))).collect(),
                hasher: Hasher::default(),
                feed: OnceLock::new(),
            }),
        }
    }
}

impl MemoryBackend {
    /// A backend of at most 10,000 entries on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A backend with another bound or clock or, with the feature `quick`, over another cache.
    #[must_use]
    pub fn builder() -> MemoryBuilder {
        MemoryBuilder { capacity: 10_000, clock: Clock::system(), entries: Entries::moka }
    }
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackend")
            .field("entries", &self.shared.entries.count())
            .field("clock", &self.shared.clock)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// A power of two, so that the shard is a few bits of the hash.
    const SHARDS: usize = 64;
    /// Changed keys that a slow listener may lag behind before it is told that it missed some.
    const FEED: usize = 1024;

    /// The lock of a key's leases; it also orders all changes of the key's entry.
    ///
    /// Poison is ignored: no foreign code runs under the lock, and every step leaves the shard whole.
    fn lock(&self, key: &str) -> MutexGuard<'_, Shard> {
        let at = self.hasher.hash_one(key) as usize & (Self::SHARDS - 1);
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is stored, as whoever holds the lock of the key's shard finds it.
    ///
    /// A load of a key that is not there costs no look into the cache: what that has the shard knows of.
    fn stored(&self, key: &str, shard: &Shard) -> Option<Stored> {
        if shard.remembers(key) { self.entries.get(key) } else { None }
    }

    /// The same, if it has not passed its hard TTL.
    fn live(&self, key: &str, shard: &Shard, now: Instant) -> Option<Stored> {
        self.stored(key, shard).filter(|stored| now < stored.hard)
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        let _hold = Hold::begin();
        self.entries.get(key)?.into_entry(self.clock.now())
    }

    fn acquire(&self, request: &Acquire<'_>) -> Acquired {
        let _hold = Hold::begin();
        let mut shard = self.lock(request.key);
        let now = self.clock.now();
        match self.stored(request.key, &shard) {
            // Under the lock, so that it cannot be a value published a moment later.
            Some(stored) if now >= stored.hard => {
                self.entries.drop(request.key);
                shard.forget(request.key);
            }
            Some(stored)
                if !request.force && now < stored.soft && request.kind.accepts(&stored.stamp.kind) =>
            {
                return Acquired::Fresh;
            }
            _ => {}
        }
        shard.sweep_if_due(now, &self.entries);
        shard.acquire(request, now)
    }

    fn publish(&self, request: Publish<'_>) -> Published {
        let _hold = Hold::begin();
        let mut shard = self.lock(request.key);
        let now = self.clock.now();
        let found = self.live(request.key, &shard, now);
        if !shard.holds(request.key, request.token, now) {
            // A repeat whose first answer was lost finds its own value.
            return match found {
                Some(stored) if stored.stamp.grant == request.token => Published::Stored,
                _ => Published::Refused,
            };
        }
        let (woken, key) = shard.release(request.key, now);
        if found.is_some_and(|stored| supersedes(stored.stamp.kind, request.stamp.kind)) {
            drop(shard);
            woken.abandoned(request.token, None);
            return Published::Refused;
        }
        let hard = far(now, request.hard_ttl);
        let soft = far(now, request.soft_ttl).min(hard);
        shard.remember(key.clone(), hard);
        self.entries.insert(key.clone(), Stored::new(request.payload, request.stamp, soft, hard));
        shard.sweep_if_due(now, &self.entries);
        drop(shard);
        woken.published();
        self.tell(|| News::Published { key, grant: request.token });
        Published::Stored
    }

    fn abandon(&self, request: &Abandon<'_>) -> Released {
        let mut shard = self.lock(request.key);
        let now = self.clock.now();
        if !shard.holds(request.key, request.token, now) {
            return Released::NotOwned;
        }
        let failure = request.failure.map(Arc::<str>::from);
        shard.fail(request.key, request.token, failure.clone(), request.cooldown, now);
        let (woken, _) = shard.release(request.key, now);
        drop(shard);
        woken.abandoned(request.token, failure);
        Released::Freed
    }

    fn invalidate(&self, key: &str) -> Invalidated {
        let _hold = Hold::begin();
        let mut shard = self.lock(key);
        let now = self.clock.now();
        let removed = self.entries.remove(key).is_some_and(|stored| now < stored.hard);
        shard.forget(key);
        let woken = shard.void(key, now);
        drop(shard);
        woken.invalidated();
        self.tell(|| News::Invalidated { key: key.into() });
        if removed { Invalidated::Removed } else { Invalidated::Absent }
    }

    /// Stores a copy of another store's entry; fresh until it is gone.
    fn keep(&self, key: &Arc<str>, payload: Payload, stamp: Stamp, until: Instant) {
        let _hold = Hold::begin();
        let mut shard = self.lock(key);
        shard.remember(key.clone(), until);
        self.entries.insert(key.clone(), Stored::new(payload, stamp, until, until));
        shard.sweep_if_due(self.clock.now(), &self.entries);
    }

    /// Removes a copy; `false` if there was none.
    fn discard(&self, key: &str) -> bool {
        let _hold = Hold::begin();
        let mut shard = self.lock(key);
        shard.forget(key);
        self.entries.remove(key).is_some()
    }

    fn tell(&self, news: impl FnOnce() -> News) {
        if let Some(feed) = self.feed.get() {
            // An error only says that nobody listens any more.
            let _ = feed.send(news());
        }
    }
}

/// Whether `stored` is the same function's value at a later schema version, which an older process must not undo.
const fn supersedes(stored: Kind, offered: Kind) -> bool {
    stored.identity == offered.identity && stored.version > offered.version
}

#[async_trait]
impl LeaseBackend for MemoryBackend {
    fn medium(&self) -> Medium {
        Medium::Values
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        self.shared.peek(key)
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        Ok(self.shared.peek(key))
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        Ok(self.shared.acquire(&request))
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        Ok(self.shared.publish(request))
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        Ok(self.shared.abandon(&request))
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        let mut shard = self.shared.lock(key);
        Ok(shard.renew(key, token, ttl, self.shared.clock.now()))
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        Ok(Box::new(MemoryWatch::begin(&self.shared, key)))
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        Ok(self.shared.invalidate(key))
    }

    fn post(&self, note: Note) {
        match note {
            Note::Abandon { key, token, failure, cooldown } => {
                let mut request = Abandon::new(&key, token);
                (request.failure, request.cooldown) = (failure.as_deref(), cooldown);
                self.shared.abandon(&request);
            }
            Note::Invalidate { key } => {
                self.shared.invalidate(&key);
            }
        }
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        let feed = self.shared.feed.get_or_init(|| broadcast::Sender::new(Shared::FEED));
        Some(Box::new(MemoryChanges::new(feed.subscribe(), prefix)))
    }
}

/// As a store of copies, which has no leases.
impl MemoryBackend {
    pub(crate) fn keep(&self, key: &Arc<str>, payload: Payload, stamp: Stamp, until: Instant) {
        self.shared.keep(key, payload, stamp, until);
    }

    pub(crate) fn discard(&self, key: &str) -> bool {
        self.shared.discard(key)
    }

    /// Removes everything; what is stored meanwhile may stay.
    pub(crate) fn clear(&self) {
        let _hold = Hold::begin();
        self.shared.entries.clear();
    }

    /// How many entries there are, about.
    pub(crate) fn count(&self) -> u64 {
        self.shared.entries.count()
    }
}

#[cfg(test)]
#[path = "memory/tests.rs"]
mod tests;
