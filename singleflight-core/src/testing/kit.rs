//! An engine for one test, and all that the test needs to see and steer.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, yield_now};

use super::counted::Counted;
use super::gate::PATIENCE;
use super::kit_builder::{KitBuilder, Settings};
use super::{FaultyBackend, Method};
use crate::backend::LeaseBackend;
use crate::clock::{Clock, ManualClock};
use crate::flights::SingleFlight;
use crate::observe::Figures;
use crate::sync::{Mutex, lock};

/// An engine for one test: it shares nothing with any other, its time passes when the test says so, its way to the
/// store can be disturbed, and what it counted can be held against what it should have.
///
/// ```
/// use std::time::Duration;
/// use singleflight_core::error::BackendErrorKind;
/// use singleflight_core::single_flight;
/// use singleflight_core::testing::{Kit, Method};
///
/// #[single_flight(key = "user:<id>", ttl = 30)]
/// async fn find(id: u64) -> Option<String> {
///     Some(format!("user {id}"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// // #[tokio::test]
/// let kit = Kit::new();
/// assert_eq!(kit.scope(find(1)).await.as_deref(), Some("user 1"));
/// assert_eq!(kit.scope(find(1)).await.as_deref(), Some("user 1"));
/// kit.assert("find").fills(1).hits(1);
///
/// kit.advance(Duration::from_secs(30)); // the hard TTL is over
/// kit.scope(find(1)).await;
/// kit.assert_fills("find", 2);
///
/// // Ten callers at once, of whom one loads and nine wait; nobody sleeps.
/// let answers = kit.herd(10, "user:2", |_| find(2)).await;
/// assert!(answers.iter().all(|answer| answer.as_deref() == Some("user 2")));
/// kit.assert("find").fills(3).follows(9);
///
/// // A store that fails, and a step of it that stands still until the test says otherwise.
/// kit.backend().on(Method::Publish).times(1).fail(BackendErrorKind::Refused);
/// let gate = kit.backend().on(Method::Acquire).hold();
/// let caller = kit.spawn(find(3));
/// gate.reached().await;
/// gate.release();
/// assert_eq!(caller.await.unwrap().as_deref(), Some("user 3"));
/// # }
/// ```
///
/// # Which calls use it
///
/// Those inside of [`scope`](Self::scope), and those that are given [`flights`](Self::flights). Each test has a kit of its
/// own, so tests run side by side. A scope goes with its future, and not with tasks that this spawns: there, the code
/// under test writes `tokio::spawn(SingleFlight::current().scope(task))`, or names its engine,
/// `#[single_flight(flights = &self.flights, ..)]`.
///
/// # Time
///
/// The engine and the store go by a clock that stands still until [`advance`](Self::advance) or [`pass`](Self::pass): what
/// is fresh stays so for however long a test takes, and nothing in the engine ends by itself. TTLs, lease renewals, wait
/// budgets, cool-downs and the probes of a lost backend all go by it; jitter is off, so what expires does so exactly then.
/// tokio's own time, which the code under test may sleep by, is another: neither `tokio::time::pause` nor
/// `tokio::time::advance` moves this clock. [`KitBuilder::tokio_time`] lets the kit go by tokio's time instead, for tests
/// with `#[tokio::test(start_paused = true)]` whose loads take their time by `tokio::time::sleep`.
///
/// # Several processes
///
/// [`process`](Self::process) gives one more engine on the same store, as another process of a fleet would have. Each has
/// its own [way there](Self::backend), so one can be cut off while the others go on:
///
/// ```
/// # use singleflight_core::single_flight;
/// # use singleflight_core::testing::Kit;
/// # #[single_flight(key = "user:<id>", ttl = 30)]
/// # async fn find(id: u64) -> Option<String> { Some(format!("user {id}")) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let one = Kit::bytes();
/// let two = one.process();
/// one.scope(find(1)).await;
/// two.scope(find(1)).await;
/// two.assert("find").fills(0).hits(1);
///
/// two.backend().cut();
/// two.scope(find(1)).await;
/// two.assert("find").fills(1).degraded(1);
/// # }
/// ```
#[derive(Clone)]
pub struct Kit {
    flights: SingleFlight,
    way: Arc<FaultyBackend>,
    common: Arc<Common>,
}

/// What the processes of a fleet have in common.
pub(super) struct Common {
    pub(super) store: Arc<dyn LeaseBackend>,
    pub(super) clock: Clock,
    /// `None` where the clock is tokio's.
    pub(super) hand: Option<ManualClock>,
    pub(super) settings: Settings,
    pub(super) fleet: Mutex<Vec<SingleFlight>>,
}

impl Kit {
    /// How far the clock moves at a time while loads are in progress.
    const STEP: Duration = Duration::from_millis(10);
    /// How often other tasks may go on between two moves: enough for a step of a backend to be asked for and answered.
    const TURNS: usize = 16;

    /// A kit whose values are kept in memory, shared, as by the default backend.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A kit whose values are kept as bytes, so that they go through serde as they would on their way to a server.
    #[must_use]
    pub fn bytes() -> Self {
        Self::builder().bytes().build()
    }

    /// A kit with another store, time or engine.
    pub fn builder() -> KitBuilder {
        KitBuilder::new()
    }

    pub(super) fn of(common: Arc<Common>) -> Self {
        let way = Arc::new(FaultyBackend::around(common.store.clone()).clock(common.clock.clone()));
        let builder = SingleFlight::builder().clock(common.clock.clone()).jitter(false);
        let flights = (common.settings)(builder).backend(way.clone()).build();
        lock(&common.fleet).push(flights.clone());
        Self { flights, way, common }
    }

    /// Another process of the fleet: an engine of its own, with the same settings, on the same store and clock.
    #[must_use]
    pub fn process(&self) -> Self {
        Self::of(self.common.clone())
    }

    /// The engine.
    #[must_use]
    pub const fn flights(&self) -> &SingleFlight {
        &self.flights
    }

    /// This engine's way to the store, to be disturbed.
    #[must_use]
    pub const fn backend(&self) -> &Arc<FaultyBackend> {
        &self.way
    }

    /// Runs `future` with this engine, as [`SingleFlight::scope`].
    ///
    /// # Cancel safety
    /// That of `future`.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        self.flights.scope(future)
    }

    /// Runs `future` with this engine, as a task: one more caller.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        tokio::spawn(self.scope(future))
    }

    /// Moves the clock forward, at once.
    ///
    /// To loads that are in progress it is as if the process had stood still for so long: beyond their lease TTL they
    /// have lost their lease, and one of those who wait takes over. For time that goes by while they run there is
    /// [`pass`](Self::pass).
    ///
    /// # Panics
    /// If the kit goes by [tokio's time](KitBuilder::tokio_time).
    #[track_caller]
    pub fn advance(&self, by: Duration) {
        match &self.common.hand {
            Some(hand) => hand.advance(by),
            None => panic!("this kit goes by tokio's time: write `kit.pass({by:?}).await`"),
        }
    }

    /// Lets time go by, in which what is due is done: leases of loads that run are renewed, waits end, delays are over.
    ///
    /// With the kit's own clock it is moved by 10 ms at a time as long as loads are in progress, and other tasks go on in
    /// between; on the runtime of `#[tokio::test]`, which has one thread, they get as far as they can. With tokio's time
    /// this is a sleep.
    ///
    /// # Cancel safety
    /// Dropped before it returns, part of the time has passed.
    pub async fn pass(&self, time: Duration) {
        let Some(hand) = &self.common.hand else { return tokio::time::sleep(time).await };
        let mut left = time;
        self.settle().await;
        while !left.is_zero() {
            let step = if self.is_idle() { left } else { left.min(Self::STEP) };
            hand.advance(step);
            left -= step;
            self.settle().await;
        }
    }

    /// Lets other tasks go on.
    async fn settle(&self) {
        for _ in 0..Self::TURNS {
            yield_now().await;
        }
    }

    /// Whether no process of the fleet has a flight in progress.
    fn is_idle(&self) -> bool {
        lock(&self.common.fleet).iter().all(|flights| flights.in_progress() == 0)
    }

    /// Waits until at least `n` callers wait in this process for a load of `key`, as it is rendered: all of a herd but
    /// the one that loads.
    ///
    /// Callers that are content with a stale copy or a default do not wait. For the others to be waiting, the one that
    /// loads must not be done: keep its body standing, or hold its question for the lease,
    /// `kit.backend().on(Method::Acquire).hold()`. (Who comes when its value is already on the way to the store looks in the
    /// store instead, and counts as a hit.)
    ///
    /// # Panics
    /// If they have not come within a minute of tokio's time.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    #[track_caller]
    pub fn until_followers<'a>(
        &'a self,
        key: &'a str,
        n: usize,
    ) -> impl Future<Output = ()> + Send + use<'a> {
        let caller = Location::caller();
        async move {
            let table = &self.flights.engine().table;
            if tokio::time::timeout(PATIENCE, table.until_followers(key, n)).await.is_ok() {
                return;
            }
            let others: Vec<_> =
                table.keys().iter().map(|(key, waiting)| format!("`{key}` ({waiting} wait)")).collect();
            let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            panic!(
                "{caller}: {n} followers were to wait for `{key}` within {PATIENCE:?}, and {} do; loads in progress: {others}",
                table.followers(key)
            );
        }
    }

    /// `n` callers at once of `key`, as it is rendered, of whom one loads when all others wait for it; their answers, in
    /// order.
    ///
    /// `call` makes the call of each, which runs as a task with this engine. There must be nothing stored for the key, or
    /// nothing that the callers are content with.
    ///
    /// # Panics
    /// If a call panics, with its panic; as [`until_followers`](Self::until_followers), if they do not wait.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the calls to themselves.
    #[track_caller]
    pub fn herd<'a, C, F>(
        &'a self,
        n: usize,
        key: &'a str,
        call: C,
    ) -> impl Future<Output = Vec<F::Output>> + use<'a, C, F>
    where
        C: FnMut(usize) -> F,
        F: Future<Output: Send> + Send + 'static,
    {
        let gate = self.way.on(Method::Acquire).hold();
        let calls: Vec<_> = (0..n).map(call).map(|call| self.spawn(call)).collect();
        let waiting = self.until_followers(key, n.saturating_sub(1));
        async move {
            waiting.await;
            gate.release();
            let mut answers = Vec::with_capacity(calls.len());
            for call in calls {
                match call.await {
                    Ok(answer) => answers.push(answer),
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => std::panic::resume_unwind(panic),
                        Err(cancelled) => panic!("the runtime ended before the call did: {cancelled}"),
                    },
                }
            }
            answers
        }
    }

    /// What was counted for the functions named `name`: by the `name` of their attribute, by their path or by the end of
    /// it behind a `::`, as for [`Statistics::of`](crate::observe::Statistics::of).
    ///
    /// # Panics
    /// If none of that name has been called; the message lists those that have.
    #[must_use]
    #[track_caller]
    pub fn figures(&self, name: &str) -> Figures {
        Counted::of(name, &self.flights.statistics()).figures().clone()
    }

    /// How many bodies of the functions named `name` have ended, with a value or an error.
    ///
    /// # Panics
    /// As [`figures`](Self::figures).
    #[must_use]
    #[track_caller]
    pub fn fills(&self, name: &str) -> u64 {
        self.figures(name).fills
    }

    /// Begins to assert what was counted for the functions named `name`: `kit.assert("users::find").fills(1).hits(9)`.
    ///
    /// # Panics
    /// As [`figures`](Self::figures).
    #[must_use = "nothing is asserted until it is said what"]
    #[track_caller]
    pub fn assert(&self, name: &str) -> Counted {
        Counted::of(name, &self.flights.statistics())
    }

    /// Asserts how many bodies of the functions named `name` have ended, with a value or an error.
    ///
    /// # Panics
    /// If it were more or fewer, with all that was counted; or as [`figures`](Self::figures).
    #[track_caller]
    pub fn assert_fills(&self, name: &str, expected: u64) {
        self.assert(name).fills(expected);
    }

    /// Asserts that no function named `name` was called on this engine.
    ///
    /// What was never called has no label yet, so a misspelt name goes unnoticed here: if you can, assert that it was
    /// called elsewhere in the test.
    ///
    /// # Panics
    /// If one was, with all that was counted.
    #[track_caller]
    pub fn assert_not_called(&self, name: &str) {
        Counted::none(name, &self.flights.statistics());
    }
}

impl Default for Kit {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit").field("flights", &self.flights).field("way", &self.way).finish_non_exhaustive()
    }
}
