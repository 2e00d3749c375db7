//! The in-process backend.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    Abandon, Acquire, Acquired, Invalidated, LeaseBackend, Medium, Note, Publish, Published, Released,
    Renewed, Token, Watch,
};
use crate::entry::Entry;
use crate::error::{BackendError, BackendErrorKind};

/// Keeps values in this process.
#[derive(Debug, Default)]
pub struct MemoryBackend;

/// Makes a [`MemoryBackend`].
#[derive(Debug)]
pub struct MemoryBuilder;

impl MemoryBackend {
    /// A backend.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

#[async_trait]
impl LeaseBackend for MemoryBackend {
    fn medium(&self) -> Medium {
        Medium::Values
    }

    async fn read(&self, _key: &str) -> Result<Option<Entry>, BackendError> {
        Ok(None)
    }

    async fn acquire(&self, _request: Acquire<'_>) -> Result<Acquired, BackendError> {
        Ok(Acquired::Granted)
    }

    async fn publish(&self, _request: Publish<'_>) -> Result<Published, BackendError> {
        Ok(Published::Refused)
    }

    async fn abandon(&self, _request: Abandon<'_>) -> Result<Released, BackendError> {
        Ok(Released::NotOwned)
    }

    async fn renew(&self, _key: &str, _token: Token, _ttl: Duration) -> Result<Renewed, BackendError> {
        Ok(Renewed::Lost)
    }

    async fn watch(&self, _key: &str) -> Result<Box<dyn Watch>, BackendError> {
        Err(BackendError::new(BackendErrorKind::Refused, "nothing"))
    }

    async fn invalidate(&self, _key: &str) -> Result<Invalidated, BackendError> {
        Ok(Invalidated::Absent)
    }

    fn post(&self, _note: Note) {}
}
