//! One process's way to the backend: counted, and disturbed when a test says so.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Change, Changes, Invalidated, Medium, News, Note, Publish, Published,
    Released, Renewed, Token, Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::error::BackendErrorKind;
use singleflight_core::link::Link;
use singleflight_core::testing::{Method, Moment};
use singleflight_core::{BackendError, LeaseBackend};
use tokio::sync::{Semaphore, watch};

/// A backend as one process reaches it.
#[derive(Debug)]
pub struct Way {
    inner: Arc<dyn LeaseBackend>,
    link: Link,
    down: AtomicBool,
    deaf: AtomicBool,
    feed_deaf: watch::Sender<bool>,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    calls: HashMap<Method, usize>,
    faults: Vec<(Method, Moment, BackendErrorKind, usize)>,
    stops: Vec<(Method, Moment, Arc<Stop>)>,
    /// Where the next question for a lease stands on its way.
    late: Option<Arc<Stop>>,
}

/// Where calls stand still, until dropped.
#[derive(Debug)]
struct Stop {
    arrived: Semaphore,
    open: Semaphore,
}

impl Stop {
    fn new() -> Arc<Self> {
        Arc::new(Self { arrived: Semaphore::new(0), open: Semaphore::new(0) })
    }

    async fn stand(&self) {
        self.arrived.add_permits(1);
        // A closed semaphore is what is waited for.
        let _ = self.open.acquire().await;
    }
}

/// Keeps calls of one method standing still until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Gate(Arc<Stop>);

impl Gate {
    /// Waits until one more call stands at the gate.
    pub async fn reached(&self) {
        let arrival = tokio::time::timeout(Duration::from_secs(600), self.0.arrived.acquire());
        arrival.await.expect("a call arrives").expect("never closed").forget();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.0.open.close();
    }
}

thread_local! {
    /// Each test has a thread of its own, and all its tasks run there.
    static TRAFFIC: Cell<Traffic> = const { Cell::new(Traffic { begun: 0, under_way: 0 }) };
}

/// What goes on between the processes of a test and their backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Steps that have been asked for.
    pub begun: u64,
    /// Steps that the backend is at; those that stand at a gate are not.
    pub under_way: i64,
}

/// What has gone on so far in this thread.
#[must_use]
pub fn traffic() -> Traffic {
    TRAFFIC.get()
}

/// A step that the backend is at.
struct UnderWay;

impl UnderWay {
    fn begin() -> Self {
        let Traffic { begun, under_way } = TRAFFIC.get();
        TRAFFIC.set(Traffic { begun: begun + 1, under_way: under_way + 1 });
        Self
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Traffic { begun, under_way } = TRAFFIC.get();
        TRAFFIC.set(Traffic { begun, under_way: under_way - 1 });
    }
}

impl Way {
    /// A way to this backend.
    #[must_use]
    pub fn to(inner: Arc<dyn LeaseBackend>) -> Self {
        Self {
            inner,
            link: Link::new(),
            down: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            feed_deaf: watch::Sender::new(false),
            plan: Mutex::default(),
        }
    }

    /// Cuts or mends the way.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    /// Whether watches hear nothing.
    pub fn set_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }

    /// Loses the subscription to what changes, or has it back.
    pub fn set_feed_deaf(&self, deaf: bool) {
        self.feed_deaf.send_replace(deaf);
    }

    /// The next `n` calls of the method fail in this way, before they are done or after.
    pub fn fail(&self, method: Method, moment: Moment, kind: BackendErrorKind, n: usize) {
        self.plan().faults.push((method, moment, kind, n));
    }

    /// Makes calls of the method stand still, before they are done or after.
    pub fn hold(&self, method: Method, moment: Moment) -> Gate {
        let stop = Stop::new();
        self.plan().stops.push((method, moment, stop.clone()));
        Gate(stop)
    }

    /// Makes the next question for a lease stand on its way: it is heard when the gate opens, even if whoever asked has
    /// gone by then.
    pub fn delay_question(&self) -> Gate {
        let stop = Stop::new();
        self.plan().late = Some(stop.clone());
        Gate(stop)
    }

    /// The backend itself.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn LeaseBackend> {
        &self.inner
    }

    /// How often the method has been called.
    #[must_use]
    pub fn calls(&self, method: Method) -> usize {
        self.plan().calls.get(&method).copied().unwrap_or(0)
    }

    /// How often anything has been called.
    #[must_use]
    pub fn total(&self) -> usize {
        self.plan().calls.values().sum()
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn around<T>(
        &self,
        method: Method,
        step: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        *self.plan().calls.entry(method).or_default() += 1;
        self.at(method, Moment::Before).await?;
        let answer = {
            let _under_way = UnderWay::begin();
            step.await
        };
        self.at(method, Moment::After).await?;
        answer
    }

    async fn at(&self, method: Method, moment: Moment) -> Result<(), BackendError> {
        let stops: Vec<_> = {
            let mut plan = self.plan();
            plan.stops.retain(|(_, _, stop)| !stop.open.is_closed());
            let here = plan.stops.iter().filter(|(m, at, _)| (*m, *at) == (method, moment));
            here.map(|(_, _, stop)| stop.clone()).collect()
        };
        for stop in stops {
            stop.stand().await;
        }
        if moment == Moment::Before && self.down.load(Ordering::SeqCst) {
            return Err(BackendError::new(BackendErrorKind::Unavailable, "the way is cut"));
        }
        let mut plan = self.plan();
        let due = plan.faults.iter_mut().find(|(m, at, _, n)| *n > 0 && (*m, *at) == (method, moment));
        let Some((_, _, kind, left)) = due else { return Ok(()) };
        *left -= 1;
        Err(BackendError::new(*kind, "the test asked for it"))
    }
}

#[async_trait]
impl LeaseBackend for Way {
    fn medium(&self) -> Medium {
        self.inner.medium()
    }

    fn peek(&self, key: &str) -> Option<Entry> {
        self.inner.peek(key)
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.around(Method::Read, self.inner.read(key)).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        let Some(late) = self.plan().late.take() else {
            return self.around(Method::Acquire, self.inner.acquire(request)).await;
        };
        let (inner, key) = (self.inner.clone(), request.key.to_owned());
        let Acquire { token, ttl, kind, force, despite_cooldown, waited_on, .. } = request;
        let heard = tokio::spawn(async move {
            late.stand().await;
            let request = Acquire::new(&key, token, ttl, kind).forced(force);
            let _under_way = UnderWay::begin();
            inner.acquire(request.despite_cooldown(despite_cooldown).waited_on(waited_on)).await
        });
        heard.await.expect("no backend panics")
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        self.around(Method::Publish, self.inner.publish(request)).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.around(Method::Abandon, self.inner.abandon(request)).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.around(Method::Renew, self.inner.renew(key, token, ttl)).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        let watch = self.around(Method::Watch, self.inner.watch(key)).await?;
        Ok(if self.deaf.load(Ordering::SeqCst) { Box::new(Deaf) } else { watch })
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.around(Method::Invalidate, self.inner.invalidate(key)).await
    }

    fn post(&self, note: Note) {
        *self.plan().calls.entry(Method::Post).or_default() += 1;
        if !self.down.load(Ordering::SeqCst) {
            self.inner.post(note);
        }
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        let inner = self.inner.changes(prefix)?;
        Some(Box::new(Feed { inner, deaf: self.feed_deaf.subscribe() }))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

/// The feed of changes, of which nothing is told while it is deaf.
#[derive(Debug)]
struct Feed {
    inner: Box<dyn Changes>,
    deaf: watch::Receiver<bool>,
}

#[async_trait]
impl Changes for Feed {
    async fn next(&mut self) -> News {
        loop {
            tokio::select! {
                biased;
                _ = self.deaf.changed() => {
                    return if *self.deaf.borrow_and_update() { News::Deaf } else { News::Listening };
                }
                news = self.inner.next() => {
                    if !*self.deaf.borrow() {
                        return news;
                    }
                }
            }
        }
    }
}

#[derive(Debug)]
struct Deaf;

#[async_trait]
impl Watch for Deaf {
    async fn changed(&mut self) -> Change {
        std::future::pending().await
    }
}
