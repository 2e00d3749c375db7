//! What one call carries with it without a change of signature: the engine in force, per-call control, and the fills
//! it is part of.
//!
//! All of it lives in one thread-local that is set around each poll, so it follows a future from thread to thread. It
//! does not cross a `spawn` of the caller's own.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::engine::Crewed;
use crate::flights::SingleFlight;
use crate::sync::{Mutex, lock};

thread_local! {
    /// Whether `SCOPE` says anything; the only thing a hit reads.
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static SCOPE: RefCell<Scope> = const { RefCell::new(Scope::EMPTY) };
}

/// The surroundings of a call.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) flights: Option<SingleFlight>,
    pub(crate) bypass: bool,
    pub(crate) refresh: bool,
    pub(crate) outcomes: Option<Outcomes>,
    pub(crate) frame: Option<Arc<Frame>>,
}

type Outcomes = Arc<Mutex<Vec<CallOutcome>>>;

/// A fill whose body is being run, and the fill that one is part of.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) flight: Crewed,
    pub(crate) parent: Option<Arc<Frame>>,
}

/// How one annotated call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// With a fresh stored value.
    Hit,
    /// With a stale copy.
    Stale,
    /// With the value of its own body.
    Filled,
    /// With the value or error of another caller's body, here or in another process.
    Coalesced,
    /// With the function's default.
    Default,
    /// With an error: its own body's, or a [`FlightError`](crate::FlightError).
    Failed,
    /// With the value of its own body, beside everything: bypassed, re-entered, or the no-op backend.
    Bypassed,
}

impl Scope {
    const EMPTY: Self = Self { flights: None, bypass: false, refresh: false, outcomes: None, frame: None };

    /// The surroundings of whoever is being polled on this thread.
    pub(crate) fn current() -> Self {
        if ACTIVE.get() { SCOPE.with_borrow(Self::clone) } else { Self::EMPTY }
    }

    /// Whether nothing at all is set; one thread-local read.
    pub(crate) fn is_unset() -> bool {
        !ACTIVE.get()
    }

    /// The surroundings of the body of a fill: what covers everything below stays, what concerns the outermost call
    /// ends here.
    pub(crate) fn of_body(mut self, frame: Option<Arc<Frame>>) -> Self {
        (self.refresh, self.outcomes) = (false, None);
        if frame.is_some() {
            self.frame = frame;
        }
        self
    }

    /// Runs `f` in these surroundings.
    pub(crate) fn enter<T>(self, f: impl FnOnce() -> T) -> T {
        struct Restore(Option<Scope>, bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                let inner = SCOPE.replace(self.0.take().unwrap_or(Scope::EMPTY));
                ACTIVE.set(self.1);
                // What it holds may run code of the user's: only now, when the cell is free again.
                drop(inner);
            }
        }
        let outer = SCOPE.replace(self);
        let _restore = Restore(Some(outer), ACTIVE.replace(true));
        f()
    }

    /// Whether this call is made inside a fill of the same key and function.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Arc<Frame>> {
        std::iter::successors(self.frame.as_ref(), |frame| frame.parent.as_ref())
    }

    pub(crate) fn note(&self, outcome: CallOutcome) {
        if let Some(outcomes) = &self.outcomes {
            lock(outcomes).push(outcome);
        }
    }
}

/// Runs the bodies of all annotated calls inside `future` as if they were not annotated: nothing is looked up, stored,
/// coalesced or counted, at any depth.
///
/// ```
/// # use std::time::Duration;
/// # use singleflight_core::{FlightError, SingleFlight, control};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), FlightError> {
/// # let flights = SingleFlight::in_memory();
/// let load = |row| {
///     flights.flight("user:1").ttl(Duration::from_secs(30)).run(move || async move { Ok::<_, FlightError>(row) })
/// };
/// assert_eq!(load(1).await?, 1);
/// assert_eq!(control::bypass(load(2)).await?, 2);
/// assert_eq!(load(3).await?, 1, "the 2 is stored nowhere");
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// That of `future`.
pub fn bypass<F: Future>(future: F) -> impl Future<Output = F::Output> {
    Scoped::new(future, |scope| scope.bypass = true)
}

/// Makes the outermost annotated calls inside `future` load anew whatever is stored; concurrent refreshes of one key
/// are still one load.
///
/// Calls made by their bodies are answered as usual. A load of the same key that is already under way elsewhere is
/// waited for, not repeated.
///
/// ```
/// # use std::time::Duration;
/// # use singleflight_core::{FlightError, SingleFlight, control};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), FlightError> {
/// # let flights = SingleFlight::in_memory();
/// let load = |row| {
///     flights.flight("user:1").ttl(Duration::from_secs(30)).run(move || async move { Ok::<_, FlightError>(row) })
/// };
/// assert_eq!(load(1).await?, 1);
/// assert_eq!(control::refresh(load(2)).await?, 2);
/// assert_eq!(load(3).await?, 2, "the 2 has taken its place");
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// That of `future`.
pub fn refresh<F: Future>(future: F) -> impl Future<Output = F::Output> {
    Scoped::new(future, |scope| scope.refresh = true)
}

/// Tells how the outermost annotated calls inside `future` were answered, in the order in which they were.
///
/// ```
/// # use std::time::Duration;
/// # use singleflight_core::{FlightError, SingleFlight, control::{self, CallOutcome}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), FlightError> {
/// # let flights = SingleFlight::in_memory();
/// let load = |row| {
///     flights.flight("user:1").ttl(Duration::from_secs(30)).run(move || async move { Ok::<_, FlightError>(row) })
/// };
/// assert_eq!(control::outcome(load(1)).await.1, [CallOutcome::Filled]);
/// assert_eq!(control::outcome(load(2)).await.1, [CallOutcome::Hit]);
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// That of `future`.
pub async fn outcome<F: Future>(future: F) -> (F::Output, Vec<CallOutcome>) {
    let outcomes = Outcomes::default();
    let record = outcomes.clone();
    let output = Scoped::new(future, move |scope| scope.outcomes = Some(record.clone())).await;
    let list = std::mem::take(&mut *lock(&outcomes));
    (output, list)
}

/// A future with something added to its surroundings.
pub(crate) struct Scoped<F, A> {
    future: Pin<Box<F>>,
    add: A,
}

impl<F: Future, A: Fn(&mut Scope)> Scoped<F, A> {
    pub(crate) fn new(future: F, add: A) -> Self {
        Self { future: Box::pin(future), add }
    }
}

impl<F: Future, A: Fn(&mut Scope) + Unpin> Future for Scoped<F, A> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut scope = Scope::current();
        (self.add)(&mut scope);
        scope.enter(|| self.future.as_mut().poll(cx))
    }
}

impl<F, A> fmt::Debug for Scoped<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scoped").finish_non_exhaustive()
    }
}
