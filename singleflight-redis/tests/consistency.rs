//! Four processes read the same keys at random, each writes and invalidates a quarter of them: nobody who comes after an invalidation returned
//! sees what was there before it.
//!
//! The truth is a counter on a server of its own. Whoever invalidates a key raises its floor afterwards: at once, or, where
//! processes keep copies, once the message has had its time to arrive. Who reads the floor and then calls must get no less.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use redis::AsyncTypedCommands;
use redis::aio::MultiplexedConnection;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Invalidated, Medium, Note, Publish, Published, Released, Renewed, Token,
    Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::link::Link;
use singleflight_core::{BackendError, FlightError, LeaseBackend, SingleFlight};
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;
use tokio::time::sleep;

const KEYS: u32 = 8;
const PROCESSES: u32 = 4;
/// Far longer than any run, so that only a message can end a copy.
const AGE: Duration = Duration::from_secs(600);
/// A message has arrived by then, also on a busy machine.
const BOUND: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(20);

const SERVER: &str = "SINGLEFLIGHT_TEST_SERVER";
const NUMBER: &str = "SINGLEFLIGHT_TEST_NUMBER";
const TRUTH: &str = "SINGLEFLIGHT_TEST_TRUTH";
const COPIES: &str = "SINGLEFLIGHT_TEST_COPIES";
const SECONDS: &str = "SINGLEFLIGHT_TEST_SECONDS";

/// What the processes keep in front of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    None,
    Kept,
    /// Kept, and nothing is ever heard: what this must not do.
    Unheard,
}

/// What came of a run.
#[derive(Debug, Default)]
struct Sum {
    reads: u64,
    invalidations: u64,
    near: u64,
    outdated: u64,
}

fn run(copies: Copies, seconds: u64) -> Sum {
    let (server, truth) = (Server::start(), Server::start());
    let start = |number: u32| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "worker", "--nocapture", "--include-ignored"]);
        command.env(SERVER, server.url()).env(TRUTH, truth.url()).env(NUMBER, number.to_string());
        command.env(COPIES, format!("{copies:?}")).env(SECONDS, seconds.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let processes: Vec<Child> = (0..PROCESSES).map(start).collect();
    let mut sum = Sum::default();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.split_once("worker: ")).expect("a worker tells").1;
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        sum.reads += numbers[0];
        sum.invalidations += numbers[1];
        sum.near += numbers[2];
        sum.outdated += numbers[3];
    }
    println!("{copies:?}, {seconds} s: {sum:?}");
    server.assert_every_key_ends();
    sum
}

/// Enough happened for the figure to mean something.
fn assert_worth_it(sum: &Sum, seconds: u64, near: bool) {
    assert!(sum.reads >= 100 * seconds && sum.invalidations >= 5 * seconds, "{sum:?}");
    assert!(!near || sum.near >= sum.reads / 10, "{sum:?}");
}

#[test]
fn p05_no_reader_sees_what_was_invalidated_before_it_came() {
    let sum = run(Copies::None, 5);
    assert_eq!(sum.outdated, 0, "{sum:?}");
    assert_worth_it(&sum, 5, false);
}

#[test]
fn p05_nor_where_copies_are_kept_once_the_message_has_arrived() {
    let sum = run(Copies::Kept, 8);
    assert_eq!(sum.outdated, 0, "{sum:?}");
    assert_worth_it(&sum, 8, true);
}

#[test]
fn copies_that_nobody_drops_are_noticed() {
    let sum = run(Copies::Unheard, 5);
    assert!(sum.outdated > 0, "{sum:?}");
}

#[test]
#[ignore = "two minutes; `scripts/test --all` runs it"]
fn p05_a_minute_of_readers_and_writers() {
    for copies in [Copies::None, Copies::Kept] {
        let sum = run(copies, 60);
        assert_eq!(sum.outdated, 0, "{sum:?}");
        assert_worth_it(&sum, 60, copies == Copies::Kept);
    }
}

/// One process of the fleet, where it is started as such.
#[tokio::test]
#[ignore = "a process that the other tests start"]
async fn worker() {
    let url = std::env::var(SERVER).expect("only the other tests start this");
    let copies = match &*std::env::var(COPIES).unwrap() {
        "None" => Copies::None,
        "Kept" => Copies::Kept,
        _ => Copies::Unheard,
    };
    let seconds = std::env::var(SECONDS).unwrap().parse().unwrap();
    let ends = Instant::now() + Duration::from_secs(seconds);
    let member = Member::new(&url, copies).await;
    let mut tasks: Vec<_> = (0..4).map(|_| tokio::spawn(member.clone().reads(ends))).collect();
    tasks.extend((0..2).map(|_| tokio::spawn(member.clone().writes(ends, copies))));
    for task in tasks {
        task.await.unwrap();
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let [reads, invalidations, outdated] = member.counts.each_ref().map(count);
    println!("worker: {reads} {invalidations} {} {outdated}", member.flights.statistics().total.near_hits);
}

/// What the tasks of a process share.
#[derive(Clone)]
struct Member {
    flights: SingleFlight,
    truth: MultiplexedConnection,
    /// Its number among the processes; its own invalidations would drop its copies without a message.
    number: u32,
    /// Reads, invalidations, and reads that saw less than the floor.
    counts: Arc<[AtomicU64; 3]>,
}

impl Member {
    async fn new(url: &str, copies: Copies) -> Self {
        let backend = RedisBackend::builder(url).response_timeout(PATIENCE).dial_timeout(PATIENCE);
        let backend: Arc<dyn LeaseBackend> = Arc::new(backend.connect().await.unwrap());
        let builder = SingleFlight::builder().namespace("test");
        let flights = match copies {
            Copies::None => builder.backend(backend),
            Copies::Kept => builder.backend(backend).near(1000, AGE),
            Copies::Unheard => builder.backend(Arc::new(Unheard(backend))).near(1000, AGE).near_unheard(AGE),
        };
        let truth = std::env::var(TRUTH).unwrap();
        let patient = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let truth = redis::Client::open(truth).unwrap();
        let truth = truth.get_multiplexed_async_connection_with_config(&patient).await.unwrap();
        let number = std::env::var(NUMBER).unwrap().parse().unwrap();
        Self { flights: flights.build(), truth, number, counts: Arc::default() }
    }

    async fn ask(&self, name: &str) -> u64 {
        let text: Option<String> = self.truth.clone().get(name).await.unwrap();
        text.map_or(0, |text| text.parse().unwrap())
    }

    async fn reads(self, ends: Instant) {
        while Instant::now() < ends {
            let key = fastrand::u32(..KEYS);
            let floor = self.ask(&format!("floor:{key}")).await;
            let load = || async {
                let version = self.ask(&format!("truth:{key}")).await;
                // What was read may be invalidated before it is stored.
                sleep(Duration::from_millis(fastrand::u64(..20))).await;
                Ok::<u64, FlightError>(version)
            };
            let seen = self.flights.flight(&format!("row:{key}")).ttl(AGE).run(load).await.unwrap();
            self.counts[0].fetch_add(1, Ordering::Relaxed);
            if seen < floor {
                self.counts[2].fetch_add(1, Ordering::Relaxed);
            }
            sleep(Duration::from_millis(fastrand::u64(..4))).await;
        }
    }

    async fn writes(self, ends: Instant, copies: Copies) {
        while Instant::now() < ends {
            let key = fastrand::u32(..KEYS / PROCESSES) * PROCESSES + self.number;
            let version = self.truth.clone().incr(format!("truth:{key}"), 1).await.unwrap();
            self.flights.invalidate(&format!("row:{key}")).await.unwrap();
            self.counts[1].fetch_add(1, Ordering::Relaxed);
            let mut truth = self.truth.clone();
            tokio::spawn(async move {
                if copies != Copies::None {
                    sleep(BOUND).await;
                }
                let raise = redis::Script::new(
                    "if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end",
                );
                let raised =
                    raise.key(format!("floor:{key}")).arg(version).invoke_async::<()>(&mut truth).await;
                raised.unwrap();
            });
            sleep(Duration::from_millis(fastrand::u64(..100))).await;
        }
    }
}

/// A backend that tells nothing of what changes.
#[derive(Debug)]
struct Unheard(Arc<dyn LeaseBackend>);

#[async_trait]
impl LeaseBackend for Unheard {
    fn medium(&self) -> Medium {
        self.0.medium()
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.0.read(key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.0.acquire(request).await
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        self.0.publish(request).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.0.abandon(request).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.0.renew(key, token, ttl).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.0.watch(key).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.0.invalidate(key).await
    }

    fn post(&self, note: Note) {
        self.0.post(note);
    }

    fn link(&self) -> Option<&Link> {
        self.0.link()
    }
}
