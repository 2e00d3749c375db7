//! Making a backend fail, lie and stand still, and counting what is asked of it.

use std::fmt;
use std::ops::Index;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::yield_now;

use crate::error::{BackendError, BackendErrorKind};

/// A method of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `read`
    Read,
    /// `acquire`
    Acquire,
    /// `publish`
    Publish,
    /// `abandon`
    Abandon,
    /// `renew`
    Renew,
    /// `watch`
    Watch,
    /// `invalidate`
    Invalidate,
    /// `post`
    Post,
}

/// How often each [`Method`] was called: `calls[Method::Read]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls([u64; Calls::METHODS]);

impl Calls {
    const METHODS: usize = Method::Post as usize + 1;

    /// Calls of all methods together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// What was called since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] - earlier.0[at]))
    }
}

impl Index<Method> for Calls {
    type Output = u64;

    fn index(&self, method: Method) -> &u64 {
        &self.0[method as usize]
    }
}

/// Whether a call is stopped before or after its step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Moment {
    /// The step has not been done.
    Before,
    /// The step is done, and the caller has not heard.
    After,
}

/// Stops every call of one method until released or dropped.
#[must_use = "dropping a gate opens it"]
pub struct Gate {
    state: Arc<Barrier>,
}

struct Barrier {
    method: Method,
    moment: Moment,
    arrived: Semaphore,
    /// Never has permits: it is closed to let everyone pass.
    open: Semaphore,
}

impl Gate {
    /// Waits until a call stands at the gate that no earlier `reached` has been told of.
    ///
    /// # Cancel safety
    /// Dropping the future loses no arrival.
    pub async fn reached(&self) {
        if let Ok(arrival) = self.state.arrived.acquire().await {
            arrival.forget();
        }
    }

    /// Lets everyone pass from now on.
    pub fn release(self) {}
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.state.open.close();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Barrier { method, moment, .. } = &*self.state;
        f.debug_struct("Gate").field("method", method).field("moment", moment).finish_non_exhaustive()
    }
}

/// What is to go wrong, and what has been called.
#[derive(Default)]
pub(super) struct Faults {
    calls: [AtomicU64; Calls::METHODS],
    down: AtomicBool,
    deaf: AtomicBool,
    planned: Mutex<Vec<Planned>>,
    gates: Mutex<Vec<Arc<Barrier>>>,
}

/// A fault that strikes the next `left` calls.
struct Planned {
    /// `None` for any.
    method: Option<Method>,
    moment: Moment,
    kind: BackendErrorKind,
    left: usize,
}

impl Faults {
    pub(super) fn calls(&self) -> Calls {
        Calls(std::array::from_fn(|at| self.calls[at].load(Ordering::SeqCst)))
    }

    pub(super) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    pub(super) fn set_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }

    pub(super) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::SeqCst)
    }

    pub(super) fn plan(&self, method: Option<Method>, moment: Moment, kind: BackendErrorKind, left: usize) {
        lock(&self.planned).push(Planned { method, moment, kind, left });
    }

    pub(super) fn hold(&self, method: Method, moment: Moment) -> Gate {
        let (arrived, open) = (Semaphore::new(0), Semaphore::new(0));
        let state = Arc::new(Barrier { method, moment, arrived, open });
        let mut gates = lock(&self.gates);
        gates.retain(|gate| !gate.open.is_closed());
        gates.push(state.clone());
        Gate { state }
    }

    /// Runs one step with everything that may happen around it.
    ///
    /// Yields before and after the step, so that other tasks come between one step and the next as they would over a
    /// network.
    pub(super) async fn around<T>(
        &self,
        method: Method,
        step: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        self.count(method);
        yield_now().await;
        self.stop_at(method, Moment::Before).await;
        self.strike(method, Moment::Before)?;
        let answer = step.await;
        yield_now().await;
        self.stop_at(method, Moment::After).await;
        self.strike(method, Moment::After)?;
        answer
    }

    /// Whether a note that nobody waits for arrives.
    pub(super) fn posted(&self) -> bool {
        self.count(Method::Post);
        self.strike(Method::Post, Moment::Before).is_ok()
    }

    fn count(&self, method: Method) {
        self.calls[method as usize].fetch_add(1, Ordering::SeqCst);
    }

    async fn stop_at(&self, method: Method, moment: Moment) {
        // Cloned out: no lock is held while standing at a gate.
        let gates = lock(&self.gates).clone();
        for gate in gates.iter().filter(|gate| (gate.method, gate.moment) == (method, moment)) {
            gate.arrived.add_permits(1);
            // An error is what a closed semaphore answers, and what is waited for.
            let _ = gate.open.acquire().await;
        }
    }

    fn strike(&self, method: Method, moment: Moment) -> Result<(), BackendError> {
        if moment == Moment::Before && self.down.load(Ordering::SeqCst) {
            return Err(BackendError::new(BackendErrorKind::Unavailable, "the test switched it off"));
        }
        let mut planned = lock(&self.planned);
        let due = planned.iter_mut().find(|fault| {
            fault.left > 0 && fault.moment == moment && fault.method.is_none_or(|only| only == method)
        });
        let Some(fault) = due else { return Ok(()) };
        fault.left -= 1;
        let kind = fault.kind;
        planned.retain(|fault| fault.left > 0);
        Err(BackendError::new(kind, "the test asked for it"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
