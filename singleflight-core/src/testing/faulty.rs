//! A backend as one process reaches it, disturbed when a test says so.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::calls::{Calls, Method, Moment};
use super::gate::{Barrier, Gate};
use super::hearing::{FaultyChanges, FaultyWatch, Hearing};
use super::rules::{FaultBuilder, Rules, Stop};
use crate::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, LeaseBackend, Medium, Note, Publish, Published,
    Released, Renewed, Token, Watch,
};
use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::{BackendError, BackendErrorKind};
use crate::link::Link;
use crate::sync::{Mutex, lock};

/// Any backend as one process reaches it: steps are counted, and fail, get lost, take long or stand still when a test
/// says so; the whole way can be cut.
///
/// Give each engine of a fleet one of its own around the same store, and one of them can be cut off while the others go
/// on. [`Kit`](super::Kit) does so.
///
/// ```
/// use std::sync::Arc;
/// use singleflight_core::error::BackendErrorKind;
/// use singleflight_core::testing::{FaultyBackend, Method};
/// use singleflight_core::{FlightError, MemoryBackend, SingleFlight};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryBackend::new();
/// let (ours, theirs) = (Arc::new(FaultyBackend::new(store.clone())), Arc::new(FaultyBackend::new(store)));
/// let here = SingleFlight::builder().backend(ours.clone()).build();
/// let there = SingleFlight::builder().backend(theirs).build();
///
/// // A publish that is refused: the caller has its value all the same, and the store does not.
/// ours.on(Method::Publish).times(1).fail(BackendErrorKind::Refused);
/// let one = here.flight("k").run(|| async { Ok::<_, FlightError>(1) }).await;
/// assert_eq!(one.unwrap(), 1);
/// assert_eq!(ours.calls()[Method::Publish], 1);
///
/// // Cut off, this process loads for itself.
/// let two = there.flight("k").run(|| async { Ok::<_, FlightError>(2) }).await;
/// ours.cut();
/// let three = here.flight("k").run(|| async { Ok::<_, FlightError>(3) }).await;
/// assert_eq!((two.unwrap(), three.unwrap()), (2, 3));
/// # }
/// ```
pub struct FaultyBackend {
    inner: Arc<dyn LeaseBackend>,
    /// This way's own: another process's may be up when this one is not.
    link: Link,
    clock: Clock,
    calls: [AtomicU64; Method::COUNT],
    under_way: Arc<AtomicU64>,
    rules: Rules,
    /// Where the next question for a lease stands on its way.
    question: Mutex<Option<Arc<Barrier>>>,
    hearing: watch::Sender<Hearing>,
}

impl FaultyBackend {
    /// A way to this backend, on which nothing goes wrong yet.
    #[must_use]
    pub fn new(backend: impl LeaseBackend) -> Self {
        Self::around(Arc::new(backend))
    }

    /// The same for a backend that is shared.
    #[must_use]
    pub fn around(backend: Arc<dyn LeaseBackend>) -> Self {
        Self {
            inner: backend,
            link: Link::new(),
            clock: Clock::system(),
            calls: Default::default(),
            under_way: Arc::default(),
            rules: Rules::default(),
            question: Mutex::default(),
            hearing: watch::Sender::new(Hearing::default()),
        }
    }

    /// Delays go by this clock. Default: [`Clock::system`].
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Says what goes wrong with calls of this method.
    pub const fn on(&self, method: Method) -> FaultBuilder<'_> {
        FaultBuilder::new(&self.rules, Some(method))
    }

    /// Says what goes wrong with all calls.
    pub const fn on_any(&self) -> FaultBuilder<'_> {
        FaultBuilder::new(&self.rules, None)
    }

    /// Makes the next question for a lease stand on its way: it is heard when the gate opens, even if whoever asked has
    /// gone by then.
    pub fn hold_question(&self) -> Gate {
        let barrier = Barrier::new(Some(Method::Acquire), Moment::Before);
        *lock(&self.question) = Some(barrier.clone());
        Gate::of(barrier)
    }

    /// Lets nothing go wrong any more that was said by [`on`](Self::on) and [`on_any`](Self::on_any); all gates are open.
    pub fn clear(&self) {
        self.rules.clear();
    }

    /// Cuts the way: steps fail as unavailable and are not done, answers to those under way are lost (their callers hear
    /// of a time-out), what is posted is lost, and no news arrive.
    ///
    /// The [`Link`] is left alone: whoever uses it finds out.
    pub fn cut(&self) {
        self.hearing.send_modify(|hearing| hearing.cut = true);
    }

    /// Mends the way. The engine notices with its next probe: half a second later at most, by its clock.
    pub fn mend(&self) {
        self.hearing.send_modify(|hearing| hearing.cut = false);
    }

    /// Whether the way is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.hearing.borrow().cut
    }

    /// While deaf, watches and feeds of changes hear nothing, and everything else goes on: a subscription that is lost.
    pub fn set_deaf(&self, deaf: bool) {
        self.hearing.send_modify(|hearing| hearing.deaf = deaf);
    }

    /// How often each method has been called, calls that failed included.
    #[must_use]
    pub fn calls(&self) -> Calls {
        Calls(std::array::from_fn(|at| self.calls[at].load(Ordering::SeqCst)))
    }

    /// How many steps the backend behind is at; those that stand at a gate are not among them.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::SeqCst)
    }

    /// The backend behind.
    #[must_use]
    pub const fn inner(&self) -> &Arc<dyn LeaseBackend> {
        &self.inner
    }

    /// Runs one step with everything that may happen around it.
    async fn step<T>(
        &self,
        method: Method,
        step: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        self.count(method);
        self.stop_at(method, Moment::Before).await;
        if self.is_cut() {
            return Err(BackendError::new(BackendErrorKind::Unavailable, "the test has cut the way"));
        }
        self.rules.failure(method, Moment::Before)?;
        let answer = {
            let _under_way = UnderWay::begin(&self.under_way);
            step.await
        };
        self.stop_at(method, Moment::After).await;
        if self.is_cut() {
            let message = "the test has cut the way before the answer came";
            return Err(BackendError::new(BackendErrorKind::Timeout, message));
        }
        self.rules.failure(method, Moment::After)?;
        answer
    }

    /// Asks in a task of its own, when the gate opens.
    async fn late(&self, way: Arc<Barrier>, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.count(Method::Acquire);
        let (inner, under_way, key) = (self.inner.clone(), self.under_way.clone(), request.key.to_owned());
        let Acquire { token, ttl, kind, force, despite_cooldown, waited_on, .. } = request;
        let heard = tokio::spawn(async move {
            way.stand().await;
            let request = Acquire::new(&key, token, ttl, kind).forced(force);
            let _under_way = UnderWay::begin(&under_way);
            inner.acquire(request.despite_cooldown(despite_cooldown).waited_on(waited_on)).await
        });
        heard.await.unwrap_or_else(|panic| {
            Err(BackendError::new(BackendErrorKind::Protocol, "the backend panicked").with_source(panic))
        })
    }

    fn count(&self, method: Method) {
        self.calls[method as usize].fetch_add(1, Ordering::SeqCst);
    }

    async fn stop_at(&self, method: Method, moment: Moment) {
        for stop in self.rules.stops(method, moment) {
            match stop {
                Stop::For(time) => self.clock.sleep(time).await,
                Stop::At(barrier) => barrier.stand().await,
            }
        }
    }
}

/// A step that the backend is at.
struct UnderWay<'a>(&'a AtomicU64);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl fmt::Debug for FaultyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyBackend")
            .field("inner", &self.inner)
            .field("link", &self.link)
            .field("hearing", &*self.hearing.borrow())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for FaultyBackend {
    fn medium(&self) -> Medium {
        self.inner.medium()
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        if self.is_cut() { None } else { self.inner.peek(key) }
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.step(Method::Read, self.inner.read(key)).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        let question = lock(&self.question).take();
        match question {
            None => self.step(Method::Acquire, self.inner.acquire(request)).await,
            Some(way) => self.late(way, request).await,
        }
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        self.step(Method::Publish, self.inner.publish(request)).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.step(Method::Abandon, self.inner.abandon(request)).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.step(Method::Renew, self.inner.renew(key, token, ttl)).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        let watch = self.step(Method::Watch, self.inner.watch(key)).await?;
        Ok(Box::new(FaultyWatch::new(watch, self.hearing.subscribe())))
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.step(Method::Invalidate, self.inner.invalidate(key)).await
    }

    fn post(&self, note: Note) {
        self.count(Method::Post);
        if !self.is_cut() && self.rules.failure(Method::Post, Moment::Before).is_ok() {
            self.inner.post(note);
        }
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        let feed = self.inner.changes(prefix)?;
        Some(Box::new(FaultyChanges::new(feed, self.hearing.subscribe())))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
