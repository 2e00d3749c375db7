//! Backends with one fault each, to see whether a suite notices.

use std::time::Duration;

use async_trait::async_trait;

use crate::backend::{
    Abandon, Acquire, Acquired, Invalidated, LeaseBackend, Medium, MemoryBackend, Note, Publish, Published,
    Released, Renewed, Token, Watch,
};
use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::BackendError;

/// What a [`Mutant`] does wrong; each has been seen in the wild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Whoever abandons a key frees its lease, whosever it is.
    ReleaseByKey,
    /// Whoever publishes is believed.
    PublishUnchecked,
    /// Invalidating removes the entry and lets the load that is running store the old value again.
    InvalidateKeepsLease,
    /// Acquiring does not look whether the entry has come meanwhile.
    NoRecheck,
}

/// A [`MemoryBackend`] with one fault. Its steps are not atomic where it is at fault.
#[derive(Debug)]
pub struct Mutant {
    inner: MemoryBackend,
    fault: Fault,
}

impl Mutant {
    /// A backend with this fault.
    #[must_use]
    pub fn new(fault: Fault, clock: Clock) -> Self {
        Self { inner: MemoryBackend::builder().clock(clock).build(), fault }
    }

    /// The caller's token, or under this fault the one that would be accepted.
    fn forge(&self, fault: Fault, key: &str, token: Token) -> Token {
        if self.fault == fault { self.inner.live_token(key).unwrap_or(token) } else { token }
    }
}

#[async_trait]
impl LeaseBackend for Mutant {
    fn medium(&self) -> Medium {
        self.inner.medium()
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        self.inner.peek(key)
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.inner.read(key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.inner.acquire(request.forced(request.force || self.fault == Fault::NoRecheck)).await
    }

    async fn publish(&self, mut request: Publish<'_>) -> Result<Published, BackendError> {
        request.token = self.forge(Fault::PublishUnchecked, request.key, request.token);
        if self.fault == Fault::PublishUnchecked && self.inner.live_token(request.key).is_none() {
            let lease = Acquire::new(request.key, request.token, Duration::MAX, request.stamp.kind);
            self.inner.acquire(lease.forced(true)).await?;
        }
        self.inner.publish(request).await
    }

    async fn abandon(&self, mut request: Abandon<'_>) -> Result<Released, BackendError> {
        request.token = self.forge(Fault::ReleaseByKey, request.key, request.token);
        self.inner.abandon(request).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.inner.renew(key, token, ttl).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.inner.watch(key).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        let holder = self.inner.live_token(key);
        let answer = self.inner.invalidate(key).await;
        if let (Fault::InvalidateKeepsLease, Some(token)) = (self.fault, holder) {
            let lease = Acquire::new(key, token, Duration::from_secs(60), crate::entry::Kind::new(0, 0));
            self.inner.acquire(lease.forced(true)).await?;
        }
        answer
    }

    fn post(&self, mut note: Note) {
        if let Note::Abandon { key, token, .. } = &mut note {
            *token = self.forge(Fault::ReleaseByKey, key, *token);
        }
        self.inner.post(note);
    }
}
