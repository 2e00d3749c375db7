//! What most tests begin with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use singleflight_core::backend::{Acquire, Acquired, Publish, Published, Token};
use singleflight_core::entry::{Entry, Kind, Payload, Stamp};
use singleflight_core::{BackendError, FlightError, LeaseBackend, SingleFlight};
use singleflight_redis::RedisBackend;
use tokio::time::{Instant, sleep};

use crate::server::Server;

pub(crate) const KIND: Kind = Kind::new(0xc0ffee, 3);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

pub(crate) async fn connect(server: &Server) -> RedisBackend {
    // A busy machine is not what these tests are about.
    let builder = RedisBackend::builder(&server.url()).dial_timeout(Duration::from_secs(2));
    builder.connect().await.expect("the server can be reached")
}

/// An engine with connections of its own, as another process would have.
pub(crate) async fn engine(server: &Server) -> SingleFlight {
    let backend = Arc::new(connect(server).await);
    SingleFlight::builder().backend(backend).namespace("test").jitter(false).build()
}

pub(crate) async fn take(backend: &RedisBackend, key: &str) -> Token {
    let token = Token::random();
    let request = Acquire::new(key, token, MINUTE, KIND).forced(true);
    assert_eq!(backend.acquire(request).await.expect("an answer"), Acquired::Granted);
    token
}

pub(crate) fn offer(key: &str, token: Token, value: impl Into<Bytes>) -> Publish<'_> {
    let stamp = Stamp::new(KIND, 1, Duration::from_millis(12), token);
    Publish::new(key, token, Payload::Bytes(value.into()), stamp, MINUTE, 2 * MINUTE)
}

pub(crate) async fn put(backend: &RedisBackend, key: &str, value: impl Into<Bytes>) {
    let token = take(backend, key).await;
    assert_eq!(backend.publish(offer(key, token, value)).await.expect("an answer"), Published::Stored);
}

pub(crate) fn bytes(entry: Result<Option<Entry>, BackendError>) -> Option<Bytes> {
    match entry.expect("an answer")?.payload {
        Payload::Bytes(bytes) => Some(bytes),
        other => panic!("{other:?}"),
    }
}

/// Waits until something holds that should within this time; gives how long it took.
pub(crate) async fn within(limit: Duration, what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        sleep(Duration::from_millis(2)).await;
    }
    start.elapsed()
}

/// A load that is counted.
#[derive(Clone, Default)]
pub(crate) struct Source(Arc<AtomicUsize>);

impl Source {
    pub(crate) fn loads(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// One call for `key` whose load takes this long and gives its own number.
    pub(crate) async fn call(
        &self,
        flights: &SingleFlight,
        key: &str,
        took: Duration,
    ) -> Result<usize, FlightError> {
        let load = || async {
            let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            if !took.is_zero() {
                sleep(took).await;
            }
            Ok(number)
        };
        flights.flight(key).ttl(MINUTE).lock_ttl(Duration::from_secs(2)).run(load).await
    }
}
