//! How not to release a lease.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, Medium, Note, Publish, Published, Released, Renewed,
    Token, Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::{BackendError, LeaseBackend, MemoryBackend};

/// A memory backend with one mistake, which many home-made locks share: whoever has done its work deletes the lock,
/// whosever it is by then. All else is as it should be, the fenced write of the value too, so that the mistake alone is
/// seen. For teaching only.
#[derive(Debug, Default)]
pub(crate) struct PlainDel {
    memory: MemoryBackend,
    holders: Mutex<HashMap<String, Token>>,
}

impl PlainDel {
    /// `DEL lock`: no word of whose.
    async fn del(&self, key: &str) -> Result<(), BackendError> {
        let holder = self.holders().get(key).copied();
        if let Some(holder) = holder {
            self.memory.abandon(Abandon::new(key, holder)).await?;
        }
        Ok(())
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<String, Token>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl LeaseBackend for PlainDel {
    fn medium(&self) -> Medium {
        self.memory.medium()
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        self.memory.peek(key)
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.memory.read(key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        let acquired = self.memory.acquire(request).await?;
        if acquired == Acquired::Granted {
            self.holders().insert(request.key.to_owned(), request.token);
        }
        Ok(acquired)
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        let key = request.key;
        let published = self.memory.publish(request).await?;
        // The right way is to leave it at `Refused`: the lease is someone else's by now.
        self.del(key).await?;
        Ok(published)
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        let released = self.memory.abandon(request).await?;
        self.del(request.key).await?;
        Ok(released)
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.memory.renew(key, token, ttl).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.memory.watch(key).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.memory.invalidate(key).await
    }

    fn post(&self, note: Note) {
        self.memory.post(note);
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        self.memory.changes(prefix)
    }
}
