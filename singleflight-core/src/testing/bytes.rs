//! A backend that keeps bytes, in this process.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{BufMut, Bytes, BytesMut};

use super::faults::{Calls, Faults, Gate, Method, Moment};
use crate::backend::{
    Abandon, Acquire, Acquired, Change, Changes, Invalidated, LeaseBackend, Medium, MemoryBackend, Note,
    Publish, Published, Released, Renewed, Residue, Token, Watch,
};
use crate::clock::Clock;
use crate::entry::{Entry, Header, Payload};
use crate::error::{BackendError, BackendErrorKind};
use crate::link::Link;

/// Keeps records of bytes as a server would, so that everything on the way over the wire runs without one.
///
/// Each step yields before and after, so that steps of different tasks really interleave. Tests can make steps fail,
/// lose their answers or stand still, and count them. Several engines on one of these behave like several processes on
/// one server; they also share its [`Link`].
pub struct BytesBackend {
    inner: MemoryBackend,
    link: Link,
    faults: Faults,
}

impl BytesBackend {
    /// A backend on this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let inner = MemoryBackend::builder().clock(clock).build();
        Self { inner, link: Link::new(), faults: Faults::default() }
    }

    /// How often each method has been called, those that failed included.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.faults.calls()
    }

    /// The next `n` steps are not done and fail in this way.
    pub fn fail_next(&self, n: usize, kind: BackendErrorKind) {
        self.faults.plan(None, Moment::Before, kind, n);
    }

    /// The next `n` steps of this method are not done and fail in this way.
    pub fn fail(&self, method: Method, n: usize, kind: BackendErrorKind) {
        self.faults.plan(Some(method), Moment::Before, kind, n);
    }

    /// The next `n` steps are done, and their callers hear of a time-out.
    pub fn lose_answers(&self, n: usize) {
        self.faults.plan(None, Moment::After, BackendErrorKind::Timeout, n);
    }

    /// The next `n` steps of this method are done, and their callers hear of a time-out.
    pub fn lose(&self, method: Method, n: usize) {
        self.faults.plan(Some(method), Moment::After, BackendErrorKind::Timeout, n);
    }

    /// While down every step fails as unavailable, and what is posted is lost.
    ///
    /// The [`Link`] is left alone: whoever uses it finds out.
    pub fn set_down(&self, down: bool) {
        self.faults.set_down(down);
    }

    /// While deaf, watches begin and never hear anything.
    pub fn set_deaf(&self, deaf: bool) {
        self.faults.set_deaf(deaf);
    }

    /// Stops every call of the method until the gate is released or dropped. [`Method::Post`] cannot be stopped.
    pub fn hold(&self, method: Method, moment: Moment) -> Gate {
        self.faults.hold(method, moment)
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
        let fresh_for = entry.gone_in.saturating_sub(header.grace);
        Some(Entry::new(Payload::Bytes(payload), header.stamp, fresh_for, entry.gone_in))
    }
}

impl fmt::Debug for BytesBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BytesBackend")
            .field("inner", &self.inner)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for BytesBackend {
    fn medium(&self) -> Medium {
        Medium::Bytes
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        let step = async { Ok(self.inner.read(key).await?.as_ref().and_then(Self::decode)) };
        self.faults.around(Method::Read, step).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.faults.around(Method::Acquire, self.inner.acquire(request)).await
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        let step = async { self.inner.publish(Self::encode(request)?).await };
        self.faults.around(Method::Publish, step).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.faults.around(Method::Abandon, self.inner.abandon(request)).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.faults.around(Method::Renew, self.inner.renew(key, token, ttl)).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        let watch = self.faults.around(Method::Watch, self.inner.watch(key)).await?;
        Ok(if self.faults.is_deaf() { Box::new(Deaf(watch)) } else { watch })
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.faults.around(Method::Invalidate, self.inner.invalidate(key)).await
    }

    fn post(&self, note: Note) {
        if self.faults.posted() {
            self.inner.post(note);
        }
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        self.inner.changes(prefix)
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

/// Keeps its place among the watches and never hears anything.
#[derive(Debug)]
struct Deaf(#[expect(dead_code, reason = "held so that the watch ends when this does")] Box<dyn Watch>);

#[async_trait]
impl Watch for Deaf {
    async fn changed(&mut self) -> Change {
        std::future::pending().await
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
    async fn a_lost_answer_is_of_a_step_that_was_done() {
        let backend = BytesBackend::new(Clock::default());
        backend.lose(Method::Publish, 1);
        assert_eq!(put(&backend, "k").await.unwrap_err().kind(), BackendErrorKind::Timeout);
        assert!(backend.read("k").await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_failed_step_was_not_done_and_is_counted() {
        let backend = BytesBackend::new(Clock::default());
        backend.fail(Method::Publish, 1, BackendErrorKind::Refused);
        assert_eq!(put(&backend, "k").await.unwrap_err().kind(), BackendErrorKind::Refused);
        backend.set_down(true);
        assert_eq!(backend.read("k").await.unwrap_err().kind(), BackendErrorKind::Unavailable);
        backend.set_down(false);
        assert!(backend.read("k").await.unwrap().is_none());
        let calls = backend.calls();
        assert_eq!((calls[Method::Publish], calls[Method::Read], calls.total()), (1, 2, 4));
    }

    #[tokio::test]
    async fn a_gate_stops_a_step_on_either_side() {
        let backend = Arc::new(BytesBackend::new(Clock::default()));
        for (moment, done) in [(Moment::Before, false), (Moment::After, true)] {
            let gate = backend.hold(Method::Publish, moment);
            let key = format!("{moment:?}");
            let task = tokio::spawn({
                let (backend, key) = (backend.clone(), key.clone());
                async move { put(&backend, &key).await }
            });
            gate.reached().await;
            assert_eq!(backend.read(&key).await.unwrap().is_some(), done);
            gate.release();
            assert_eq!(task.await.unwrap().unwrap(), Published::Stored);
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
