//! Holding steps until the test lets them go.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::calls::{Method, Moment};

/// How long the helpers here wait for what the test says will come; by tokio's clock.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Holds the calls that it was made for until released or dropped; made by [`FaultBuilder::hold`](super::FaultBuilder::hold).
///
/// ```
/// use singleflight_core::FlightError;
/// use singleflight_core::testing::{Kit, Method};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let kit = Kit::new();
/// let gate = kit.backend().on(Method::Publish).hold();
/// let flights = kit.flights().clone();
/// let load = kit.spawn(async move { flights.flight("k").run(|| async { Ok::<_, FlightError>(1) }).await });
///
/// gate.reached().await; // the value is loaded, and not stored yet
/// kit.flights().invalidate("k").await.unwrap();
/// gate.release();
/// assert_eq!(load.await.unwrap().unwrap(), 1); // for its own caller
/// kit.assert("flight").fills(1).fenced(1); // and for nobody else
/// # }
/// ```
#[must_use = "dropping a gate opens it"]
pub struct Gate {
    barrier: Arc<Barrier>,
}

/// What a gate and those who stand at it share.
pub(super) struct Barrier {
    /// `None` for any.
    method: Option<Method>,
    moment: Moment,
    arrived: Semaphore,
    /// Never has permits: it is closed to let everyone pass.
    open: Semaphore,
}

impl Barrier {
    pub(super) fn new(method: Option<Method>, moment: Moment) -> Arc<Self> {
        Arc::new(Self { method, moment, arrived: Semaphore::new(0), open: Semaphore::new(0) })
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_closed()
    }

    pub(super) fn lift(&self) {
        self.open.close();
    }

    /// Stands at the gate until it is open.
    pub(super) async fn stand(&self) {
        self.arrived.add_permits(1);
        // An error is what a closed semaphore answers, and what is waited for.
        let _ = self.open.acquire().await;
    }
}

impl Gate {
    pub(super) const fn of(barrier: Arc<Barrier>) -> Self {
        Self { barrier }
    }

    /// Waits until a call stands at the gate that no earlier `reached` has been told of.
    ///
    /// # Panics
    /// If none has come within a minute of tokio's time.
    ///
    /// # Cancel safety
    /// Dropping the future loses no arrival.
    #[track_caller]
    pub fn reached(&self) -> impl Future<Output = ()> + Send + use<'_> {
        let caller = Location::caller();
        async move {
            match tokio::time::timeout(PATIENCE, self.barrier.arrived.acquire()).await {
                Ok(arrival) => arrival.into_iter().for_each(|permit| permit.forget()),
                Err(_) => panic!("{caller}: no call has come to the {self:?} within {PATIENCE:?}"),
            }
        }
    }

    /// Lets everyone pass from now on.
    pub fn release(self) {}
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.barrier.lift();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Barrier { method, moment, .. } = &*self.barrier;
        f.debug_struct("Gate").field("method", method).field("moment", moment).finish_non_exhaustive()
    }
}
