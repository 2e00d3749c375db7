//! What most tests begin with.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use singleflight_core::backend::{Acquire, Acquired, Publish, Published, Token};
use singleflight_core::entry::{Entry, Kind, Payload, Stamp};
use singleflight_core::{BackendError, FlightError, LeaseBackend, SingleFlight};
use singleflight_redis::{ConnectErrorKind, RedisBackend, RedisBuilder};
use singleflight_tests::server::Server;
use tokio::time::{Instant, sleep};

pub(crate) const KIND: Kind = Kind::new(0xc0ffee, 3);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// What should come soon is to have come by then, however busy the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A backend that waits for a busy machine, which is not what most tests are about.
pub(crate) fn patient(url: &str) -> RedisBuilder {
    RedisBackend::builder(url).dial_timeout(PATIENCE).response_timeout(PATIENCE)
}

/// Asserts that no connection comes about, and what is said of it.
pub(crate) async fn refused(builder: RedisBuilder, kind: ConnectErrorKind, says: &str) {
    let error = builder.connect().await.unwrap_err();
    let source = error.source().map(ToString::to_string);
    assert!(error.kind() == kind && error.to_string().contains(says), "{says}: {error:?}; {source:?}");
    assert!(format!("{error:?}").contains(says), "a `main` that returns it prints the sentence: {error:?}");
}

pub(crate) async fn connect(server: &Server) -> RedisBackend {
    connect_to(&server.url()).await
}

pub(crate) async fn connect_to(url: &str) -> RedisBackend {
    patient(url).connect().await.expect("the servers can be reached")
}

/// A backend with the time-outs that users have, for tests of what never answers.
pub(crate) async fn hasty(url: &str) -> RedisBackend {
    reached(&RedisBackend::builder(url).dial_timeout(PATIENCE)).await
}

/// Tries until there is a connection: with such time-outs a busy machine may take too long at first.
pub(crate) async fn reached(builder: &RedisBuilder) -> RedisBackend {
    let start = Instant::now();
    loop {
        match builder.clone().connect().await {
            Ok(backend) => return backend,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// An engine with connections of its own, as another process would have.
pub(crate) async fn engine(server: &Server) -> SingleFlight {
    engine_on(connect(server).await)
}

pub(crate) fn engine_on(backend: RedisBackend) -> SingleFlight {
    SingleFlight::builder().backend(Arc::new(backend)).namespace("test").jitter(false).build()
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

/// Waits until something holds that should soon; gives how long it took.
pub(crate) async fn soon(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        sleep(Duration::from_millis(2)).await;
    }
    start.elapsed()
}

/// The same where it can be said at once.
pub(crate) async fn until(what: &str, holds: impl FnMut() -> bool) {
    within(PATIENCE, what, holds).await;
}

/// The same where servers take their time.
pub(crate) async fn within(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Asserts that nothing of ours is left in the engines, and nothing without an end on the server.
pub(crate) async fn nothing_is_left(server: &Server, engines: &[&SingleFlight]) {
    for flights in engines {
        soon("no flight is left", async || flights.in_progress() == 0).await;
    }
    let listening = || server.say(&["PUBSUB", "CHANNELS", "*"]).contains("}w");
    soon("no subscription is left", async || !listening()).await;
    server.assert_every_key_ends();
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
        self.call_until(flights, key, || sleep(took)).await
    }

    /// One call for `key` whose load goes on until this has come and gives its own number.
    pub(crate) async fn call_until<F: Future<Output = ()> + Send>(
        &self,
        flights: &SingleFlight,
        key: &str,
        end: impl Fn() -> F + Send + Sync,
    ) -> Result<usize, FlightError> {
        let load = || async {
            let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            end().await;
            Ok(number)
        };
        // Whoever waits for the end of the lease is found out.
        flights.flight(key).ttl(MINUTE).lock_ttl(MINUTE).run(load).await
    }
}
