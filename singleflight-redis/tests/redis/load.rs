//! Callers that go on calling while something happens to the servers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use singleflight_core::backend::{Acquire, Acquired, Published, Token};
use singleflight_core::{FlightError, LeaseBackend, SingleFlight};
use singleflight_redis::RedisBackend;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::rig::{KIND, MINUTE, PATIENCE, engine_on, offer, soon};

/// How many keys are called for.
pub(crate) const KEYS: u64 = 60;
/// How long a value lives, so that there is something to load all the time.
const TTL: Duration = Duration::from_secs(3);
/// How long a load takes.
const TOOK: Duration = Duration::from_millis(5);

/// Callers, until they are stopped.
pub(crate) struct Load {
    counted: Arc<Counted>,
    callers: JoinSet<()>,
    start: Instant,
}

#[derive(Default)]
struct Counted {
    stop: AtomicBool,
    calls: AtomicU64,
    loads: AtomicU64,
    longest: AtomicU64,
}

/// What became of the calls.
pub(crate) struct Report {
    calls: u64,
    loads: u64,
    longest: Duration,
    took: Duration,
}

impl Load {
    /// Begins to call, in engines of their own as processes have them. A call that fails or is answered with another
    /// key's value panics.
    pub(crate) async fn begin(url: &str, engines: usize) -> Self {
        let counted = Arc::new(Counted::default());
        let mut callers = JoinSet::new();
        for _ in 0..engines {
            // As users have it: with the time-outs that are there by default.
            let backend = RedisBackend::builder(url).connect_in_background().unwrap();
            soon("it can be used", async || backend.read("k").await.is_ok()).await;
            let flights = engine_on(backend);
            for caller in 0..4 {
                callers.spawn(call_until_stopped(flights.clone(), counted.clone(), caller));
            }
        }
        Self { counted, callers, start: Instant::now() }
    }

    pub(crate) fn calls(&self) -> u64 {
        self.counted.calls.load(Ordering::SeqCst)
    }

    /// Ends the calls and says what became of them.
    pub(crate) async fn end(mut self) -> Report {
        self.counted.stop.store(true, Ordering::SeqCst);
        while let Some(done) = self.callers.join_next().await {
            done.expect("no call failed");
        }
        let number = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Report {
            calls: self.calls(),
            loads: number(&self.counted.loads),
            longest: Duration::from_micros(number(&self.counted.longest)),
            took: self.start.elapsed(),
        }
    }
}

async fn call_until_stopped(flights: SingleFlight, counted: Arc<Counted>, caller: u64) {
    let mut number = caller;
    while !counted.stop.load(Ordering::SeqCst) {
        number = (number + 7) % KEYS;
        let key = format!("k{number}");
        let load = || async {
            counted.loads.fetch_add(1, Ordering::SeqCst);
            sleep(TOOK).await;
            Ok::<_, FlightError>(number)
        };
        let start = Instant::now();
        let answer = flights.flight(&key).ttl(TTL).run(load).await;
        let took = start.elapsed();
        assert_eq!(answer.expect("no call fails"), number, "no call is answered with another key's value");
        counted.calls.fetch_add(1, Ordering::SeqCst);
        counted.longest.fetch_max(took.as_micros() as u64, Ordering::SeqCst);
        sleep(Duration::from_millis(1)).await;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, loads, longest, took } = self;
        // What they would be if every value were loaded once in its life.
        let needed = KEYS as f64 * (took.as_secs_f64() / TTL.as_secs_f64()).ceil();
        write!(
            f,
            "{calls} calls in {took:.1?}, no errors, the longest {longest:.1?}; {loads} loads where {needed} would do"
        )
    }
}

/// Waits until every key can be written again; gives how long that took.
pub(crate) async fn recovered(backend: &RedisBackend) -> Duration {
    let start = Instant::now();
    for number in 0..KEYS {
        // A step that fails is tried again.
        let key = format!("r{number}");
        while backend.invalidate(&key).await.is_err() {
            assert!(start.elapsed() < 3 * PATIENCE, "{key} cannot be written");
            sleep(Duration::from_millis(10)).await;
        }
    }
    let took = start.elapsed();
    // Another key each time: a lease that was taken though its answer was late is another's.
    let mut attempt = 0;
    while !is_put(backend, &format!("put{attempt}")).await {
        assert!(start.elapsed() < 3 * PATIENCE, "nothing can be published");
        attempt += 1;
    }
    took
}

async fn is_put(backend: &RedisBackend, key: &str) -> bool {
    let token = Token::random();
    let granted = backend.acquire(Acquire::new(key, token, MINUTE, KIND)).await;
    matches!(granted, Ok(Acquired::Granted))
        && matches!(backend.publish(offer(key, token, "value")).await, Ok(Published::Stored))
}
