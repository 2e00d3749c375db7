//! The store that all processes of a side share: bytes, in the lab itself.

use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, Medium, Note, Publish, Published, Released, Renewed,
    Token, Watch,
};
use singleflight_core::entry::{Entry, Payload};
use singleflight_core::error::BackendErrorKind;
use singleflight_core::{BackendError, LeaseBackend, MemoryBackend};

/// Keeps what codecs make of values, as a server would, so that engines on it are to each other what processes are.
///
/// The testing kit has such a store as well; with its feature on here, `cargo run --bin stampede` would be built with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteStore {
    memory: MemoryBackend,
}

#[async_trait]
impl LeaseBackend for ByteStore {
    fn medium(&self) -> Medium {
        Medium::Bytes
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.memory.read(key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.memory.acquire(request).await
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        if !matches!(request.payload, Payload::Bytes(_)) {
            let message = "a shared value has no bytes to keep";
            return Err(BackendError::new(BackendErrorKind::Refused, message));
        }
        self.memory.publish(request).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.memory.abandon(request).await
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
