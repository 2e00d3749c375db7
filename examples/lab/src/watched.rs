//! A backend that tells what becomes of leases and entries, and whose way can be cut.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, Medium, Note, Publish, Published, Released, Renewed,
    Token, Watch,
};
use singleflight_core::entry::{Entry, Payload};
use singleflight_core::error::BackendErrorKind;
use singleflight_core::link::Link;
use singleflight_core::{BackendError, LeaseBackend};

use crate::items::Row;
use crate::tell::Tell;
use crate::wire::{EntryStep, LeaseStep, What};

/// Any backend, as one process of a race reaches it.
pub(crate) struct Watched {
    inner: Arc<dyn LeaseBackend>,
    process: u32,
    tell: Arc<dyn Tell>,
    /// This way's own: another process's may be up when this one is not.
    link: Link,
    way: Arc<Way>,
    /// Whether renewals do what they say.
    renews: bool,
}

/// The way from one process to the store.
#[derive(Debug, Default)]
pub(crate) struct Way {
    cut: AtomicBool,
    commands: AtomicU64,
}

impl Way {
    /// Cuts or mends it. While it is cut steps fail, and what nobody waits for is lost.
    pub(crate) fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }

    /// Steps asked for so far.
    pub(crate) fn commands(&self) -> u64 {
        self.commands.load(Ordering::SeqCst)
    }
}

impl Watched {
    pub(crate) fn new(
        inner: Arc<dyn LeaseBackend>,
        process: u32,
        tell: Arc<dyn Tell>,
        way: Arc<Way>,
    ) -> Self {
        Self { inner, process, tell, link: Link::new(), way, renews: true }
    }

    /// The same, where renewals are not to be told of, because there are none.
    pub(crate) fn renewing(mut self, renews: bool) -> Self {
        self.renews = renews;
        self
    }

    /// Whether the store counts as away.
    pub(crate) fn is_away(&self) -> bool {
        self.link().is_some_and(|link| !link.is_up())
    }

    /// Counts a step, and does it if the way is there.
    async fn step<T>(
        &self,
        step: impl Future<Output = Result<T, BackendError>> + Send,
    ) -> Result<T, BackendError> {
        self.way.commands.fetch_add(1, Ordering::SeqCst);
        self.tell.room().await;
        self.there()?;
        let answer = step.await;
        self.there()?;
        answer
    }

    fn there(&self) -> Result<(), BackendError> {
        if self.way.cut.load(Ordering::SeqCst) {
            return Err(BackendError::new(BackendErrorKind::Unavailable, "the way to the store is cut"));
        }
        Ok(())
    }

    fn tell_lease(&self, key: &str, token: Token, what: LeaseStep, ttl: Option<Duration>) {
        let ttl_ms = ttl.map(whole_ms);
        let (key, process, grant) = (number(key), self.process, name(token));
        self.tell.tell(What::Lease { key, process, grant, what, ttl_ms });
    }

    fn tell_removed(&self, key: &str) {
        let (key, process, what) = (number(key), self.process, EntryStep::Removed);
        self.tell.tell(What::Entry { key, process, what, value: None, soft_ms: None, hard_ms: None });
    }
}

/// The number in a key.
pub(crate) fn number(key: &str) -> u32 {
    key.rsplit(':').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// A few letters that tell a grant from the others of its race.
pub(crate) fn name(token: Token) -> String {
    token.as_bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The version of the row that is stored.
fn version(payload: &Payload) -> Option<u32> {
    let row = match payload {
        Payload::Value(value) => value.downcast_ref::<Row>().copied(),
        Payload::Bytes(bytes) => serde_json::from_slice(bytes).ok(),
        _ => None,
    };
    row.map(|row| row.version)
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("inner", &self.inner).field("way", &self.way).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for Watched {
    fn medium(&self) -> Medium {
        self.inner.medium()
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        self.inner.peek(key)
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.step(self.inner.read(key)).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        let acquired = self.step(self.inner.acquire(request)).await?;
        match &acquired {
            Acquired::Granted => {
                self.tell_lease(request.key, request.token, LeaseStep::Granted, Some(request.ttl));
            }
            Acquired::Held { grant, left } => {
                self.tell_lease(request.key, *grant, LeaseStep::Held, Some(*left));
            }
            _ => {}
        }
        Ok(acquired)
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        let (key, token, value) = (request.key, request.token, version(&request.payload));
        let (soft, hard) = (whole_ms(request.soft_ttl), whole_ms(request.hard_ttl));
        let published = self.step(self.inner.publish(request)).await?;
        if published == Published::Stored {
            let (number, process, what) = (number(key), self.process, EntryStep::Stored);
            self.tell_lease(key, token, LeaseStep::Published, None);
            let (soft_ms, hard_ms) = (Some(soft), Some(hard));
            self.tell.tell(What::Entry { key: number, process, what, value, soft_ms, hard_ms });
        } else {
            self.tell_lease(key, token, LeaseStep::Refused, None);
        }
        Ok(published)
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        let released = self.step(self.inner.abandon(request)).await?;
        if released == Released::Freed {
            self.tell_lease(request.key, request.token, LeaseStep::Abandoned, None);
        }
        Ok(released)
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        let renewed = self.step(self.inner.renew(key, token, ttl)).await?;
        let (what, ttl) = match renewed {
            Renewed::Extended => (LeaseStep::Renewed, Some(ttl)),
            _ => (LeaseStep::Lost, None),
        };
        if self.renews {
            self.tell_lease(key, token, what, ttl);
        }
        Ok(renewed)
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.step(self.inner.watch(key)).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        let invalidated = self.step(self.inner.invalidate(key)).await?;
        self.tell_removed(key);
        Ok(invalidated)
    }

    fn post(&self, note: Note) {
        self.way.commands.fetch_add(1, Ordering::SeqCst);
        if self.there().is_err() {
            return;
        }
        match &note {
            Note::Abandon { key, token, .. } => self.tell_lease(key, *token, LeaseStep::Abandoned, None),
            Note::Invalidate { key } => self.tell_removed(key),
            _ => {}
        }
        self.inner.post(note);
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        self.inner.changes(prefix)
    }

    fn link(&self) -> Option<&Link> {
        self.inner.link().or(Some(&self.link))
    }
}
