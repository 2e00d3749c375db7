//! Time and chance, the only two inputs that are not arguments; both can be replaced in tests.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::backend::Token;

/// Where an engine and an in-process backend get their time and their random numbers.
///
/// [`Clock::system`] follows tokio's clock, hence also `tokio::time::pause`. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Clock {
    time: Time,
    chance: Option<Arc<Mutex<fastrand::Rng>>>,
}

#[derive(Clone)]
enum Time {
    System,
    Manual(ManualClock),
}

impl Clock {
    /// The machine's monotonic clock and entropy.
    #[must_use]
    pub const fn system() -> Self {
        Self { time: Time::System, chance: None }
    }

    /// A clock that only moves when told to.
    #[must_use]
    pub fn manual() -> (Self, ManualClock) {
        let manual = ManualClock::new();
        (Self { time: Time::Manual(manual.clone()), chance: None }, manual)
    }

    /// The same clock with repeatable random numbers (and tokens), for simulations.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.chance = Some(Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))));
        self
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.time {
            Time::System => tokio::time::Instant::now().into_std(),
            Time::Manual(manual) => manual.now(),
        }
    }

    /// Waits until `deadline`.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn sleep_until(&self, deadline: Instant) {
        match &self.time {
            Time::System => tokio::time::sleep_until(deadline.into()).await,
            Time::Manual(manual) => manual.sleep_until(deadline).await,
        }
    }

    /// Waits for `duration` from this call.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        self.sleep_until(far(self.now(), duration))
    }

    /// A random number in `0.0..1.0`.
    pub(crate) fn fraction(&self) -> f64 {
        match &self.chance {
            Some(chance) => chance.lock().unwrap_or_else(PoisonError::into_inner).f64(),
            None => fastrand::f64(),
        }
    }

    /// A token for one grant.
    pub(crate) fn token(&self) -> Token {
        match &self.chance {
            Some(chance) => {
                let n = chance.lock().unwrap_or_else(PoisonError::into_inner).u128(..);
                Token::new(n.to_be_bytes())
            }
            None => Token::random(),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = match self.time {
            Time::System => "system",
            Time::Manual(_) => "manual",
        };
        f.debug_struct("Clock").field("time", &time).field("seeded", &self.chance.is_some()).finish()
    }
}

/// The hand of a [`Clock::manual`].
///
/// Whatever goes by that clock stands still until [`advance`](Self::advance): the TTLs of a backend that was made with it,
/// and in an engine that was, lease renewals, wait budgets, cool-downs and the probes of a lost backend. Tokio's time is
/// another: `tokio::time::pause` and `tokio::time::advance` do not move this clock, and `tokio::time::sleep` in the code
/// under test does not wait for it. An engine on [`Clock::system`] goes by tokio's time, paused or not.
///
/// ```
/// use std::time::Duration;
/// use singleflight_core::{Clock, FlightError, SingleFlight};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), FlightError> {
/// let (clock, hand) = Clock::manual();
/// let flights = SingleFlight::builder().clock(clock).jitter(false).build();
/// let load = |value| flights.flight("k").ttl(Duration::from_secs(30)).run(move || async move { Ok::<_, FlightError>(value) });
/// assert_eq!(load(1).await?, 1);
/// hand.advance(Duration::from_secs(29));
/// assert_eq!(load(2).await?, 1);
/// hand.advance(Duration::from_secs(1));
/// assert_eq!(load(3).await?, 3);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ManualClock {
    shared: Arc<Shared>,
}

struct Shared {
    origin: Instant,
    /// Nanoseconds since `origin`.
    elapsed: AtomicU64,
    moved: Notify,
}

impl ManualClock {
    fn new() -> Self {
        let shared = Shared { origin: Instant::now(), elapsed: AtomicU64::new(0), moved: Notify::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Moves the clock forward and wakes everyone whose time has come.
    pub fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.shared.elapsed.fetch_add(nanos, Ordering::SeqCst);
        self.shared.moved.notify_waiters();
    }

    fn now(&self) -> Instant {
        far(self.shared.origin, Duration::from_nanos(self.shared.elapsed.load(Ordering::SeqCst)))
    }

    async fn sleep_until(&self, deadline: Instant) {
        loop {
            // Registered before the look, so that an advance in between is not missed.
            let moved = self.shared.moved.notified();
            if self.now() >= deadline {
                return;
            }
            moved.await;
        }
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("elapsed", &self.shared.elapsed).finish_non_exhaustive()
    }
}

/// `start + duration`, or a moment thirty years on where the sum cannot be represented.
pub(crate) fn far(start: Instant, duration: Duration) -> Instant {
    const THIRTY_YEARS: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    start.checked_add(duration).or_else(|| start.checked_add(THIRTY_YEARS)).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn manual_clock_wakes_sleepers_only_when_their_time_has_come() {
        let (clock, hand) = Clock::manual();
        let start = clock.now();
        let mut sleep = std::pin::pin!(clock.sleep(Duration::from_secs(2)));
        hand.advance(Duration::from_secs(1));
        assert!(
            std::future::poll_fn(|cx| std::task::Poll::Ready(sleep.as_mut().poll(cx).is_pending())).await
        );
        hand.advance(Duration::from_secs(1));
        sleep.await;
        assert_eq!(clock.now() - start, Duration::from_secs(2));
    }

    #[test]
    fn seeded_clocks_repeat_themselves() {
        let (a, b) = (Clock::system().seeded(7), Clock::system().seeded(7));
        assert_eq!(a.token(), b.token());
        assert_eq!(a.fraction().to_bits(), b.fraction().to_bits());
        assert_ne!(a.token(), a.token());
    }

    #[test]
    fn far_never_overflows() {
        let now = Instant::now();
        assert!(far(now, Duration::MAX) > now);
    }
}
