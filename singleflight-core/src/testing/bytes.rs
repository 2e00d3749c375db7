//! A backend that keeps bytes, in this process.

use std::time::Duration;

use async_trait::async_trait;
use bytes::{BufMut, Bytes, BytesMut};
use tokio::task::yield_now;

use crate::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, LeaseBackend, Medium, MemoryBackend, Note, Publish,
    Published, Released, Renewed, Residue, Token, Watch,
};
use crate::clock::Clock;
use crate::entry::{Entry, Header, Payload};
use crate::error::{BackendError, BackendErrorKind};
use crate::link::Link;

/// Keeps records of bytes as a server would, so that everything on the way over the wire runs without one.
///
/// Each step yields before and after, so that steps of different tasks really interleave. Several engines on one of
/// these behave like several processes on one server; they also share its [`Link`]. Put a
/// [`FaultyBackend`](super::FaultyBackend) around it for each, and each has a way of its own, which can be disturbed.
///
/// ```
/// use singleflight_core::testing::BytesBackend;
/// use singleflight_core::{Clock, FlightError, SingleFlight};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), FlightError> {
/// let flights = SingleFlight::on(BytesBackend::new(Clock::system()));
/// let load = |value| flights.flight("k").run(move || async move { Ok::<_, FlightError>(value) });
/// assert_eq!((load(1).await?, load(2).await?), (1, 1));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct BytesBackend {
    inner: MemoryBackend,
    link: Link,
}

impl BytesBackend {
    /// A backend on this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { inner: MemoryBackend::builder().clock(clock).build(), link: Link::new() }
    }

    /// Replaces the payload of a stored record by bytes that no codec has written; `false` where there is no record.
    pub fn corrupt(&self, key: &str, bytes: &[u8]) -> bool {
        let Some(Payload::Bytes(record)) = self.inner.peek(key).map(|entry| entry.payload) else {
            return false;
        };
        let Some(header) = record.get(..Header::LEN) else { return false };
        self.inner.replace(key, Payload::Bytes([header, bytes].concat().into()))
    }

    /// What flights have left behind.
    #[must_use]
    pub fn residue(&self) -> Residue {
        self.inner.residue()
    }

    /// Makes a record, as it would be sent.
    fn encode(request: Publish<'_>) -> Result<Publish<'_>, BackendError> {
        let Payload::Bytes(payload) = &request.payload else {
            let message = "a shared value has no bytes to keep";
            return Err(BackendError::new(BackendErrorKind::Refused, message));
        };
        let grace = request.hard_ttl.saturating_sub(request.soft_ttl);
        let header = Header { stamp: request.stamp, grace };
        let mut record = BytesMut::with_capacity(Header::LEN + payload.len());
        record.put_slice(&header.to_bytes());
        record.put_slice(payload);
        Ok(Publish { payload: Payload::Bytes(record.freeze()), ..request })
    }

    /// Takes a record apart, as it would be received: all that is believed is its bytes and the time it has left.
    fn decode(entry: &Entry) -> Option<Entry> {
        let Payload::Bytes(record) = &entry.payload else { return None };
        let (header, payload): (Header, Bytes) = Header::split(record)?;
        let fresh_for = entry.gone_in().saturating_sub(header.grace);
        Some(Entry::new(Payload::Bytes(payload), header.stamp, fresh_for, entry.gone_in()))
    }
}

/// Lets other tasks come between one step and the next, as they would over a network.
async fn over_the_wire<T>(step: impl Future<Output = T>) -> T {
    yield_now().await;
    let answer = step.await;
    yield_now().await;
    answer
}

#[async_trait]
impl LeaseBackend for BytesBackend {
    fn medium(&self) -> Medium {
        Medium::Bytes
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        let step = async { Ok(self.inner.read(key).await?.as_ref().and_then(Self::decode)) };
        over_the_wire(step).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        over_the_wire(self.inner.acquire(request)).await
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        let step = async { self.inner.publish(Self::encode(request)?).await };
        over_the_wire(step).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        over_the_wire(self.inner.abandon(request)).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        over_the_wire(self.inner.renew(key, token, ttl)).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        over_the_wire(self.inner.watch(key)).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        over_the_wire(self.inner.invalidate(key)).await
    }

    fn post(&self, note: Note) {
        self.inner.post(note);
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        self.inner.changes(prefix)
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::entry::{Kind, Stamp};

    const KIND: Kind = Kind::new(1, 0);
    const MINUTE: Duration = Duration::from_secs(60);

    async fn put(backend: &BytesBackend, key: &str) -> Result<Published, BackendError> {
        let token = Token::random();
        assert_eq!(backend.acquire(Acquire::new(key, token, MINUTE, KIND)).await.unwrap(), Acquired::Granted);
        let stamp = Stamp::new(KIND, 1, Duration::ZERO, token);
        let payload = Payload::Bytes(Bytes::from_static(b"value"));
        backend.publish(Publish::new(key, token, payload, stamp, MINUTE, 2 * MINUTE)).await
    }

    fn bytes_of(entry: Option<Entry>) -> Bytes {
        match entry.map(|entry| entry.payload) {
            Some(Payload::Bytes(bytes)) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_corrupted_record_keeps_its_header() {
        let backend = BytesBackend::new(Clock::default());
        assert!(!backend.corrupt("k", b"junk"));
        put(&backend, "k").await.unwrap();
        assert!(backend.corrupt("k", b"junk"));
        let entry = backend.read("k").await.unwrap();
        assert_eq!(entry.as_ref().map(|entry| entry.stamp.kind), Some(KIND));
        assert_eq!(bytes_of(entry), "junk");
    }

    #[tokio::test]
    async fn a_value_without_bytes_is_refused_and_the_lease_is_as_it_was() {
        let backend = BytesBackend::new(Clock::default());
        let token = Token::random();
        backend.acquire(Acquire::new("k", token, MINUTE, KIND)).await.unwrap();
        let stamp = Stamp::new(KIND, 0, Duration::ZERO, token);
        let publish = Publish::new("k", token, Payload::Value(Arc::new(1)), stamp, MINUTE, MINUTE);
        assert_eq!(backend.publish(publish).await.unwrap_err().kind(), BackendErrorKind::Refused);
        assert_eq!(backend.abandon(Abandon::new("k", token)).await.unwrap(), Released::Freed);
        assert_eq!(backend.residue(), Residue::default());
    }
}
