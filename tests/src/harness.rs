//! What a backend under test must offer, and the helpers that the suite is written with.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::testing::{BytesBackend, Fault, FaultyBackend, Mutant};
use singleflight_core::{
    Clock, LeaseBackend, LockTtl, MemoryBackend, Policy, SingleFlight, SingleFlightBuilder,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::source::{LoadError, SITE, Source};
use crate::way;

/// A backend under test. Each test has one to itself.
///
/// Where the backend is in process, time is paused and passes at once; a server has a time of its own, so with one the
/// suite takes the time it says. It holds in both.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The backend as one more process reaches it.
    fn backend(&self) -> Arc<dyn LeaseBackend>;

    /// How many leases are in force.
    async fn leases(&self) -> usize;

    /// What else engines are made with.
    fn prepare(&self, builder: SingleFlightBuilder) -> SingleFlightBuilder {
        builder
    }

    /// What goes before every key; a server that is shared by tests needs one per harness.
    fn namespace(&self) -> &str {
        ""
    }
}

/// One process: an engine, and its way to the backend.
#[derive(Debug)]
pub struct Process {
    /// The engine.
    pub flights: SingleFlight,
    /// Its way to the backend.
    pub way: Arc<FaultyBackend>,
}

impl dyn Harness + '_ {
    /// Another process of the fleet.
    #[must_use]
    pub fn process(&self) -> Process {
        self.process_with(|builder| builder)
    }

    /// Another process of the fleet, whose engine is made with these settings.
    pub fn process_with(&self, set: impl FnOnce(SingleFlightBuilder) -> SingleFlightBuilder) -> Process {
        let way = way::to(self.backend());
        let builder = SingleFlight::builder().backend(way.clone()).namespace(self.namespace()).jitter(false);
        Process { flights: set(self.prepare(builder)).build(), way }
    }

    /// Waits until no lease is in force: what is freed in a `Drop` may take a moment, but not until the lease ends.
    pub async fn freed(&self) {
        self.freed_within(LEASE / 4).await;
    }

    /// Waits until no lease is in force, for up to this time.
    pub async fn freed_within(&self, time: Duration) {
        let freed = async {
            while self.leases().await > 0 {
                pass(Duration::from_millis(1)).await;
            }
        };
        within(time, freed).await;
    }
}

impl Process {
    /// A call for [`KEY`].
    ///
    /// # Errors
    /// As the source says.
    pub async fn call(&self, policy: Policy, source: &Arc<Source>) -> Result<u64, LoadError> {
        self.call_key(KEY, policy, source).await
    }

    /// A call for `key`.
    ///
    /// # Errors
    /// As the source says.
    pub async fn call_key(&self, key: &str, policy: Policy, source: &Arc<Source>) -> Result<u64, LoadError> {
        self.flights.flight(key).site(&SITE).policy(policy).run_sharing(|| source.load()).await
    }

    /// A call in a task of its own.
    #[must_use]
    pub fn spawn(&self, policy: Policy, source: &Arc<Source>) -> JoinHandle<Result<u64, LoadError>> {
        self.spawn_key(KEY, policy, source)
    }

    /// A call in a task of its own.
    #[must_use]
    pub fn spawn_key(
        &self,
        key: &str,
        policy: Policy,
        source: &Arc<Source>,
    ) -> JoinHandle<Result<u64, LoadError>> {
        let (flights, source, key) = (self.flights.clone(), source.clone(), key.to_owned());
        tokio::spawn(async move {
            flights.flight(&key).site(&SITE).policy(policy).run_sharing(|| source.load()).await
        })
    }

    /// Many calls, each in a task of its own.
    #[must_use]
    pub fn spawn_many(
        &self,
        n: usize,
        policy: Policy,
        source: &Arc<Source>,
    ) -> Vec<JoinHandle<Result<u64, LoadError>>> {
        (0..n).map(|_| self.spawn(policy, source)).collect()
    }

    /// Invalidates [`KEY`].
    pub async fn invalidate(&self) {
        self.flights.invalidate(KEY).await.expect("the backend is up");
    }

    /// Takes a lease and never gives it back or renews it: what a killed process leaves behind.
    ///
    /// Its future is polled until `source` is being loaded, and then never again nor dropped.
    pub async fn crash(self, policy: Policy, source: &Arc<Source>) {
        let (flights, other) = (self.flights.clone(), source.clone());
        let mut call = Box::pin(async move {
            flights.flight(KEY).site(&SITE).policy(policy).run_sharing(|| other.load()).await
        });
        tokio::select! {
            biased;
            done = &mut call => panic!("the load was to hang: {done:?}"),
            () = source.began() => {}
        }
        std::mem::forget(call);
        std::mem::forget(self);
    }
}

/// The key of a test that needs but one.
pub const KEY: &str = "row:1";

/// The lease TTL of tests that wait for its end, and the second in which all of them count.
pub const LEASE: Duration = Duration::from_secs(1);

/// The lease TTL of [`plain`]: renewed every two seconds, it outlasts a machine that stands still for as long.
pub const HELD: Duration = Duration::from_secs(6);

/// The smallest time that a store tells: what it says may be early by so much.
pub const GRAIN: Duration = Duration::from_millis(5);

/// Fresh for a minute.
pub const fn plain() -> Policy {
    leased(Policy::new().ttl(Duration::from_secs(60)).jitter(0.0), HELD)
}

/// Fresh for ten seconds, gone after a minute.
pub const fn soft() -> Policy {
    plain().soft_ttl(Duration::from_secs(10))
}

/// The same under leases of this TTL.
pub const fn leased(policy: Policy, ttl: Duration) -> Policy {
    policy.lock_ttl(LockTtl::Fixed(ttl))
}

/// The same under a lease that a panic does not outlast, or very many steps: while a backtrace is printed nothing is
/// renewed.
pub const fn unhurried(policy: Policy) -> Policy {
    leased(policy, Duration::from_secs(30))
}

/// Lets time go by: at once where it is paused.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Lets every task run until it waits for something, and not for an answer of the backend.
pub async fn settle() {
    let (mut calm, mut before) = (0, way::traffic());
    while calm < 4 {
        pass(Duration::from_millis(5)).await;
        let now = way::traffic();
        calm = if now == before && now.under_way == 0 { calm + 1 } else { 0 };
        before = now;
    }
}

/// The future's output, which must come within this time.
///
/// The time is counted in fifty steps, so that what a busy machine keeps from this process is not counted.
///
/// # Panics
/// If it does not.
pub async fn within<F: Future>(time: Duration, future: F) -> F::Output {
    let step = (time / 50).max(Duration::from_millis(1));
    let over = async {
        let mut left = time;
        while !left.is_zero() {
            pass(step.min(left)).await;
            left = left.saturating_sub(step);
        }
    };
    tokio::select! {
        biased;
        output = future => output,
        () = over => panic!("should have ended by now, {time:?} later"),
    }
}

/// The output of all tasks, which must come within a minute.
pub async fn all<T: fmt::Debug>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut outputs = Vec::with_capacity(tasks.len());
    for task in tasks {
        outputs.push(within(Duration::from_secs(60), task).await.expect("no panic"));
    }
    outputs
}

/// How many tasks this runtime has.
#[must_use]
pub fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until there are no more tasks than this: what was posted may still be under way.
pub async fn no_more_tasks_than(most: usize) {
    let ended = async {
        while tasks() > most {
            pass(Duration::from_millis(1)).await;
        }
    };
    within(LEASE, ended).await;
}

/// The store of shared values.
#[derive(Debug, Default)]
pub struct Memory(MemoryBackend);

#[async_trait]
impl Harness for Memory {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        Arc::new(self.0.clone())
    }

    async fn leases(&self) -> usize {
        self.0.residue().leases
    }
}

/// The same over the other cache.
#[derive(Debug)]
pub struct Quick(MemoryBackend);

impl Default for Quick {
    fn default() -> Self {
        // Room in each of its parts for its share of what the suite stores at most.
        Self(MemoryBackend::builder().quick().capacity(20_000).build())
    }
}

#[async_trait]
impl Harness for Quick {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        Arc::new(self.0.clone())
    }

    async fn leases(&self) -> usize {
        self.0.residue().leases
    }
}

/// The store of bytes.
#[derive(Debug)]
pub struct Bytes(Arc<BytesBackend>);

impl Default for Bytes {
    fn default() -> Self {
        Self(Arc::new(BytesBackend::new(Clock::system())))
    }
}

#[async_trait]
impl Harness for Bytes {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.0.clone()
    }

    async fn leases(&self) -> usize {
        self.0.residue().leases
    }
}

/// The store of bytes, with copies in front of it in each process.
#[derive(Debug, Default)]
pub struct Near(Bytes);

#[async_trait]
impl Harness for Near {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.0.backend()
    }

    async fn leases(&self) -> usize {
        self.0.leases().await
    }

    fn prepare(&self, builder: SingleFlightBuilder) -> SingleFlightBuilder {
        builder.near(1000, Duration::from_secs(600))
    }
}

/// A store with a fault, which the suite must notice.
#[derive(Debug)]
pub struct Faulty(Arc<Mutant>);

impl Faulty {
    /// A store with this fault.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self(Arc::new(Mutant::new(fault, Clock::system())))
    }
}

#[async_trait]
impl Harness for Faulty {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.0.clone()
    }

    async fn leases(&self) -> usize {
        0
    }
}
