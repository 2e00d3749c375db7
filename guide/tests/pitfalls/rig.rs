//! What the tests begin with: a server, connections by hand, and processes of the library.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use singleflight_core::{LockTtl, Policy, SingleFlight};
use singleflight_redis::RedisBackend;
use singleflight_tests::harness::{Process, pass, within};
use singleflight_tests::server::Server;
use singleflight_tests::way;

/// What comes at all has come by then, however busy the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Never ends while a test runs.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Ends while a test waits for it.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

/// A connection as a hand-written recipe has it.
pub(crate) async fn connection(server: &Server) -> MultiplexedConnection {
    let client = redis::Client::open(server.url()).expect("a good URL");
    let patient = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    client.get_multiplexed_async_connection_with_config(&patient).await.expect("the server can be reached")
}

/// A process that uses the library, with connections of its own.
pub(crate) async fn process(server: &Server) -> Process {
    let patient = RedisBackend::builder(&server.url()).dial_timeout(PATIENCE).response_timeout(PATIENCE);
    let backend = patient.connect().await.expect("the server can be reached");
    let way = way::to(Arc::new(backend));
    let flights = SingleFlight::builder().backend(way.clone()).namespace("guide").jitter(false).build();
    Process { flights, way }
}

/// A value that stays, under a lease that lasts this long between renewals.
pub(crate) fn leased(ttl: Duration) -> Policy {
    Policy::new().ttl(LONG).lock_ttl(LockTtl::Fixed(ttl))
}

/// The same, where nothing is renewed: what a leader that hangs looks like to the others.
pub(crate) fn overrun() -> Policy {
    leased(SHORT).max_hold(SHORT)
}

/// Polls a recipe once, which sends its first command, and waits until this holds: its process stands still meanwhile.
pub(crate) async fn begin(recipe: Pin<&mut impl Future>, holds: impl FnMut() -> bool) {
    let mut recipe = recipe;
    poll_fn(|cx| {
        assert!(recipe.as_mut().poll(cx).is_pending(), "the answer takes a while");
        Poll::Ready(())
    })
    .await;
    until(holds).await;
}

/// Waits until this holds.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let held = async {
        while !holds() {
            pass(Duration::from_millis(2)).await;
        }
    };
    within(PATIENCE, held).await;
}

/// Waits until the server has no lock by this name any more.
pub(crate) async fn ended(server: &Server, lock: &str) {
    until(|| server.say(&["EXISTS", lock]).trim() == ":0").await;
}

/// Waits until a call of this process has been told that another has the lease.
pub(crate) async fn waits(process: &Process) {
    until(|| process.flights.statistics().total.acquires_held > 0).await;
}
