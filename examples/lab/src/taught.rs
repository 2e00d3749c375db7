//! The teaching backend: the shared store with one mistake, as home-made locks have them. For teaching only.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, Medium, Note, Publish, Published, Released, Renewed,
    Token, Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::{BackendError, LeaseBackend};
use tokio::sync::watch;

use crate::setting::Fault;
use crate::store::ByteStore;
use crate::tell::Tell;
use crate::watched::{name, number};
use crate::wire::{LeaseStep, What};

/// A late question is heard by now, whatever it waits for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Nobody else is going to ask.
const LULL: Duration = Duration::from_secs(2);

/// The store with its mistake, as one process reaches it. All but the mistake is as it should be, so that it alone is
/// seen.
pub(crate) struct Taught {
    store: ByteStore,
    process: u32,
    school: Arc<School>,
    tell: Arc<dyn Tell>,
}

/// What the processes of a side have in common.
#[derive(Debug)]
pub(crate) struct School {
    fault: Fault,
    /// Who asked for the lease of each key first.
    first: Mutex<HashMap<String, u32>>,
    /// Whose the lease of each key was last.
    holders: Mutex<HashMap<String, Token>>,
    /// Keys that have been published.
    published: watch::Sender<BTreeSet<String>>,
    /// Keys of which a question is held up.
    late: watch::Sender<BTreeSet<String>>,
}

impl School {
    /// Whether questions are late.
    fn holds_up(&self) -> bool {
        matches!(self.fault, Fault::LateQuestion | Fault::NoRecheck)
    }

    pub(crate) fn new(fault: Fault) -> Arc<Self> {
        let (published, late) = (watch::Sender::default(), watch::Sender::default());
        Arc::new(Self { fault, first: Mutex::default(), holders: Mutex::default(), published, late })
    }
}

impl Taught {
    pub(crate) fn new(store: ByteStore, process: u32, school: Arc<School>, tell: Arc<dyn Tell>) -> Self {
        Self { store, process, school, tell }
    }

    /// Where questions are late: lets the first process's pass, and holds up those of the others until the value is
    /// there. They have looked for it by then, in vain.
    async fn late(&self, key: &str) {
        if !self.school.holds_up() {
            return;
        }
        let first = *lock(&self.school.first).entry(key.to_owned()).or_insert(self.process);
        if first != self.process {
            let mut published = self.school.published.subscribe();
            let there = published.wait_for(|published| published.contains(key));
            self.school.late.send_if_modified(|late| late.insert(key.to_owned()));
            let _ = tokio::time::timeout(PATIENCE, there).await;
        }
    }

    /// Where questions are late, the value comes when there is one to be late, however busy the machine is.
    async fn await_late(&self, key: &str) {
        if self.school.holds_up() {
            let mut late = self.school.late.subscribe();
            let _ = tokio::time::timeout(LULL, late.wait_for(|late| late.contains(key))).await;
        }
    }

    /// `DEL lock`: no word of whose.
    fn del(&self, key: &str, own: Token) {
        let holder = lock(&self.school.holders).get(key).copied();
        if let Some(holder) = holder.filter(|holder| self.school.fault == Fault::PlainDel && *holder != own) {
            let (cooldown, failure) = (Duration::ZERO, None);
            self.store.post(Note::Abandon { key: key.into(), token: holder, failure, cooldown });
            lock(&self.school.holders).remove(key);
            let (key, process, grant, ttl_ms) = (number(key), self.process, name(holder), None);
            self.tell.tell(What::Lease { key, process, grant, what: LeaseStep::Deleted, ttl_ms });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Taught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taught").field("school", &self.school).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for Taught {
    fn medium(&self) -> Medium {
        self.store.medium()
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.store.read(key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.late(request.key).await;
        // The right way is to look, in the same step, whether the entry has come meanwhile.
        let blind = self.school.fault == Fault::NoRecheck;
        let acquired = self.store.acquire(request.forced(request.force || blind)).await?;
        if acquired == Acquired::Granted {
            lock(&self.school.holders).insert(request.key.to_owned(), request.token);
        }
        Ok(acquired)
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        let (key, token) = (request.key, request.token);
        self.await_late(key).await;
        let published = self.store.publish(request).await?;
        if published == Published::Stored {
            lock(&self.school.holders).remove(key);
            self.school.published.send_if_modified(|published| published.insert(key.to_owned()));
        } else {
            // The right way is to leave it at that: the lease is someone else's by now.
            self.del(key, token);
        }
        Ok(published)
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        let released = self.store.abandon(request).await?;
        if released != Released::Freed {
            self.del(request.key, request.token);
        }
        Ok(released)
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        if self.school.fault == Fault::NoRenewal {
            // Nobody who forgets to renew is told of it.
            return Ok(Renewed::Extended);
        }
        self.store.renew(key, token, ttl).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.store.watch(key).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.store.invalidate(key).await
    }

    fn post(&self, note: Note) {
        self.store.post(note);
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        self.store.changes(prefix)
    }
}
