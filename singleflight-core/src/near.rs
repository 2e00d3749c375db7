//! Copies of a backend's fresh values in this process, decoded: a hit on one costs no round trip.
//!
//! # Invariants
//!
//! 1. A copy is fresh for no longer than the backend said when it was asked, nor for longer than `max_age`.
//! 2. A value is kept only if nothing was heard of its key since the backend was asked for it: whoever asks takes a
//!    [`Ticket`] first, and each change punches the tickets of its shard under the lock under which copies are kept. So
//!    an answer that an invalidation overtakes is dropped, whichever of the two arrives first.
//! 3. While nothing is heard, nothing is known of changes: copies from before are gone, and new ones live for
//!    `unheard` alone.
//! 4. No user's `Drop` runs under a lock: a [`Hold`] begins before it and ends after it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::backend::{Changes, Hold, LeaseBackend, MemoryBackend, News, SharedValue, Token};
use crate::clock::{Clock, far};
use crate::entry::{Entry, Payload, Stamp};

/// The near cache of one engine.
pub(crate) struct Near {
    copies: MemoryBackend,
    marks: Box<[Mutex<Mark>]>,
    hasher: RandomState,
    terms: NearTerms,
    clock: Clock,
    /// Whether changes are heard.
    hears: AtomicBool,
    /// Whether a task listens, or has listened in vain because there is no feed.
    listening: AtomicBool,
    /// Dropped with this, which ends the task.
    end: Mutex<Option<oneshot::Sender<()>>>,
    dropped: AtomicU64,
    flushes: AtomicU64,
}

/// How much is kept, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct NearTerms {
    pub(crate) capacity: u64,
    pub(crate) max_age: Duration,
    pub(crate) unheard: Duration,
}

/// What has been heard of the keys of one shard.
#[derive(Default)]
struct Mark {
    changes: u64,
    /// The grant of the last change, if that was a publish.
    last: Option<Token>,
}

impl Mark {
    /// Notes a change: tickets taken before it are void.
    fn punch(&mut self, grant: Option<Token>) {
        *self = Self { changes: self.changes.wrapping_add(1), last: grant };
    }
}

/// Taken before the backend is asked.
#[derive(Clone)]
pub(crate) struct Ticket {
    at: Instant,
    changes: u64,
}

impl Ticket {
    /// Whether a value stored under `grant` may be kept: the one change that may lie between is its own publish.
    fn admits(&self, mark: &Mark, grant: Token) -> bool {
        let own = mark.changes == self.changes.wrapping_add(1) && mark.last == Some(grant);
        mark.changes == self.changes || own
    }
}

/// A value to be kept.
pub(crate) struct Fresh {
    pub(crate) value: SharedValue,
    pub(crate) stamp: Stamp,
    /// Counted from when the backend was asked.
    pub(crate) fresh_for: Duration,
}

/// What a near cache has counted; see [`Statistics`](crate::observe::Statistics).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearFigures {
    /// Copies in memory, about; those that have expired and were not yet let go of are among them.
    pub copies: u64,
    /// The bound on their number.
    pub capacity: u64,
    /// Copies dropped because their key changed.
    pub dropped: u64,
    /// How often all copies were dropped because changes may have been missed.
    pub flushes: u64,
    /// Whether changes are heard at present; while they are not, copies live for a moment only.
    pub hears: bool,
}

impl Near {
    /// Tickets of keys in one shard are punched together; with so many shards that costs next to no copies.
    const SHARDS: usize = 1024;

    pub(crate) fn new(terms: NearTerms, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            copies: MemoryBackend::builder().capacity(terms.capacity).clock(clock.clone()).build(),
            marks: (0..Self::SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            terms,
            clock,
            hears: AtomicBool::new(false),
            listening: AtomicBool::new(false),
            end: Mutex::default(),
            dropped: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        })
    }

    /// The copy, if there is one.
    pub(crate) fn peek(&self, key: &str) -> Option<Entry> {
        self.copies.peek(key)
    }

    /// To be taken before the backend is asked for `key`.
    pub(crate) fn ticket(&self, key: &str) -> Ticket {
        Ticket { at: self.clock.now(), changes: self.mark(key).changes }
    }

    /// Keeps what the backend has answered to the one with the ticket.
    pub(crate) fn found(&self, key: &Arc<str>, ticket: Ticket, copy: Fresh) {
        let _hold = Hold::begin();
        let mark = self.mark(key);
        if ticket.admits(&mark, copy.stamp.grant) {
            self.keep(key, ticket, copy);
        }
    }

    /// Keeps what the one with the ticket has stored. Answers to older questions are out of date.
    pub(crate) fn stored(&self, key: &Arc<str>, ticket: Ticket, copy: Fresh) {
        let _hold = Hold::begin();
        let mut mark = self.mark(key);
        if ticket.admits(&mark, copy.stamp.grant) {
            mark.punch(Some(copy.stamp.grant));
            self.keep(key, ticket, copy);
        }
    }

    /// To be called under the lock of the mark, so that no flush lies between the look at `hears` and the copy.
    fn keep(&self, key: &Arc<str>, ticket: Ticket, copy: Fresh) {
        let Fresh { value, stamp, fresh_for } = copy;
        let longest = if self.hears.load(Ordering::SeqCst) { self.terms.max_age } else { self.terms.unheard };
        let until = far(ticket.at, fresh_for.min(longest));
        if until > self.clock.now() {
            self.copies.keep(key, Payload::Value(value), stamp, until);
        }
    }

    /// Drops the copy of a key, and whatever is on its way to become one.
    pub(crate) fn forget(&self, key: &str) {
        self.changed(key, None);
    }

    fn changed(&self, key: &str, grant: Option<Token>) {
        let _hold = Hold::begin();
        let mut mark = self.mark(key);
        mark.punch(grant);
        let same = |copy: &Entry| Some(copy.stamp.grant) == grant;
        if !self.copies.peek(key).is_some_and(|copy| same(&copy)) && self.copies.discard(key) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&self, hears: bool) {
        let _hold = Hold::begin();
        if !hears {
            self.hears.store(false, Ordering::SeqCst);
        }
        for mark in &self.marks {
            mark.lock().unwrap_or_else(PoisonError::into_inner).punch(None);
        }
        // What is kept between the punch and this is dropped too, which does no harm.
        self.copies.clear();
        if hears {
            // At last: until all is dropped nothing may be kept for long.
            self.hears.store(true, Ordering::SeqCst);
        }
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    fn mark(&self, key: &str) -> MutexGuard<'_, Mark> {
        let at = self.hasher.hash_one(key) as usize % Self::SHARDS;
        self.marks[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to listen to the backend, if nobody does; needs a runtime, and is tried again until there is one.
    pub(crate) fn listen(self: &Arc<Self>, backend: &Arc<dyn LeaseBackend>, namespace: &str) {
        if self.listening.load(Ordering::Relaxed) || self.listening.swap(true, Ordering::SeqCst) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return self.listening.store(false, Ordering::SeqCst);
        };
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}:") };
        // Without a feed nothing will ever be heard, and copies live for a moment.
        let Some(feed) = backend.changes(&prefix) else { return };
        let (end, ended) = oneshot::channel();
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
        let ear = Ear { near: Arc::downgrade(self), skip: prefix.len() };
        drop(runtime.spawn(ear.listen(feed, ended)));
    }

    pub(crate) fn figures(&self) -> NearFigures {
        NearFigures {
            copies: self.copies.count(),
            capacity: self.terms.capacity,
            dropped: self.dropped.load(Ordering::Relaxed),
            flushes: self.flushes.load(Ordering::Relaxed),
            hears: self.hears.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Near").field("terms", &self.terms).field("figures", &self.figures()).finish()
    }
}

/// The task that listens.
struct Ear {
    near: Weak<Near>,
    /// Of each key: the namespace, which this process leaves out.
    skip: usize,
}

impl Ear {
    async fn listen(self, mut feed: Box<dyn Changes>, mut ended: oneshot::Receiver<()>) {
        loop {
            let mut next = feed.next();
            let news = poll_fn(|cx| {
                if pin!(&mut ended).poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                next.as_mut().poll(cx).map(Some)
            });
            let (Some(news), Some(near)) = (news.await, self.near.upgrade()) else { return };
            match news {
                News::Listening => near.flush(true),
                News::Deaf => near.flush(false),
                News::Published { key, grant } => near.changed(&key[self.skip..], Some(grant)),
                News::Invalidated { key } => near.changed(&key[self.skip..], None),
            }
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        // Its runtime may have ended before the process: from here on nothing is heard, until someone listens again.
        if let Some(near) = self.near.upgrade() {
            near.flush(false);
            near.listening.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
#[path = "near/tests.rs"]
mod tests;
