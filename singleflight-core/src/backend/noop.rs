//! The backend that switches everything off.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    Abandon, Acquire, Acquired, Invalidated, LeaseBackend, Medium, Note, Publish, Published, Released,
    Renewed, Token, Watch,
};
use crate::entry::Entry;
use crate::error::{BackendError, BackendErrorKind};

/// Keeps nothing and holds nobody up: every call runs its body.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopBackend;

#[async_trait]
impl LeaseBackend for NoopBackend {
    fn medium(&self) -> Medium {
        Medium::Nothing
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
        Err(BackendError::new(BackendErrorKind::Refused, "the no-op backend has nothing to watch"))
    }

    async fn invalidate(&self, _key: &str) -> Result<Invalidated, BackendError> {
        Ok(Invalidated::Absent)
    }

    fn post(&self, _note: Note) {}
}
