//! Is the backend there? Link and breaker as one state machine.
//!
//! Closed (up) → open (down) after a failure → one probe at a time → closed again, once every invalidation that could
//! not be sent has been. While open a call learns so from one atomic load and costs the backend nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::{Clock, far};
use crate::error::{BackendError, BackendErrorKind};

/// The state of the way to a backend, shared by all engines that use it.
///
/// A backend that reconnects by itself says [`up`](Self::up) and [`down`](Self::down); for others the engine notes
/// what became of each step.
pub struct Link {
    /// Read on every call; all else is behind the mutex and read only while this says down.
    down: AtomicBool,
    timeouts: AtomicU32,
    outages: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    probe_at: Option<Instant>,
    probing: bool,
    delay: Duration,
    /// In order, so that a simulation repeats itself.
    unsent: BTreeSet<Arc<str>>,
    forgotten: u64,
}

/// Whether a call may use the backend.
#[derive(Debug)]
pub(crate) enum Admission<'a> {
    /// The link is up.
    Open,
    /// The link is down and this call is the one that tries it.
    Probe(Probe<'a>),
    /// The link is down.
    Shut,
}

/// The one attempt to use a link that is down. Dropped without success it has failed.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    link: &'a Link,
    clock: &'a Clock,
}

impl Probe<'_> {
    /// Notes that the backend answered; `false` while invalidations are unsent.
    pub(crate) fn succeeded(&self) -> bool {
        self.link.up()
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if !self.link.is_up() {
            self.link.down(self.clock.now());
        }
    }
}

impl Link {
    /// So many time-outs in a row open the breaker; any other sign of absence does at once.
    const TIMEOUTS: u32 = 3;
    const FIRST_DELAY: Duration = Duration::from_millis(50);
    const LAST_DELAY: Duration = Duration::from_millis(500);
    /// Invalidations remembered while down, at most.
    pub const UNSENT: usize = 100_000;

    /// A link that is up.
    #[must_use]
    pub fn new() -> Self {
        let (timeouts, outages) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { down: AtomicBool::new(false), timeouts, outages, state: Mutex::default() }
    }

    /// How often the link has gone down.
    pub(crate) fn outages(&self) -> u64 {
        self.outages.load(Ordering::Acquire)
    }

    /// Whether calls may use the backend; one atomic load.
    #[must_use]
    pub fn is_up(&self) -> bool {
        !self.down.load(Ordering::Acquire)
    }

    /// Notes that the backend cannot be reached.
    pub fn down(&self, now: Instant) {
        let mut state = self.lock();
        state.probing = false;
        state.delay = (state.delay * 2).clamp(Self::FIRST_DELAY, Self::LAST_DELAY);
        state.probe_at = Some(far(now, state.delay));
        // Under the lock, so that one outage counts once; before the flag, so that whoever sees it sees the number.
        let was_up = self.is_up();
        if was_up {
            self.outages.fetch_add(1, Ordering::Release);
        }
        self.down.store(true, Ordering::Release);
        drop(state);
        if was_up {
            crate::trace::backend_away();
        }
    }

    /// Notes that the backend is there; `false` if invalidations are still unsent, and the link then stays down.
    pub fn up(&self) -> bool {
        let mut state = self.lock();
        if !state.unsent.is_empty() {
            return false;
        }
        let forgotten = state.forgotten;
        *state = State { forgotten, ..State::default() };
        self.timeouts.store(0, Ordering::Relaxed);
        let was_down = self.down.swap(false, Ordering::AcqRel);
        drop(state);
        if was_down {
            crate::trace::backend_back();
        }
        true
    }

    /// Asks whether a call may use the backend.
    pub(crate) fn admit<'a>(&'a self, clock: &'a Clock) -> Admission<'a> {
        if self.is_up() {
            return Admission::Open;
        }
        let mut state = self.lock();
        match state.probe_at {
            Some(at) if clock.now() >= at && !state.probing => {
                state.probing = true;
                Admission::Probe(Probe { link: self, clock })
            }
            _ => Admission::Shut,
        }
    }

    /// Notes what became of one step while the link counts as up. The clock is read only where a step has failed.
    pub(crate) fn note<T>(&self, step: &Result<T, BackendError>, clock: &Clock) {
        match step.as_ref().map_err(BackendError::kind) {
            // Two loads on the common path; the store only after a time-out.
            Ok(_) | Err(BackendErrorKind::Refused | BackendErrorKind::Protocol) => {
                if self.timeouts.load(Ordering::Relaxed) != 0 {
                    self.timeouts.store(0, Ordering::Relaxed);
                }
            }
            Err(BackendErrorKind::Unavailable) => self.down(clock.now()),
            Err(BackendErrorKind::Timeout) => {
                if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= Self::TIMEOUTS {
                    self.down(clock.now());
                }
            }
        }
    }

    /// Remembers an invalidation that could not be sent, to be sent before the link counts as up; `false` when there
    /// are too many.
    pub fn remember(&self, key: &Arc<str>) -> bool {
        let mut state = self.lock();
        let remembered = state.unsent.len() < Self::UNSENT;
        let first = if remembered {
            state.unsent.insert(key.clone());
            state.unsent.len() == 1
        } else {
            state.forgotten += 1;
            state.forgotten == 1
        };
        drop(state);
        if first {
            crate::trace::invalidation_unsent(remembered);
        }
        remembered
    }

    /// The invalidations still unsent.
    #[must_use]
    pub fn unsent(&self) -> Vec<Arc<str>> {
        self.lock().unsent.iter().cloned().collect()
    }

    /// Notes that this invalidation has been sent.
    pub fn sent(&self, key: &str) {
        self.lock().unsent.remove(key);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("up", &self.is_up()).finish_non_exhaustive()
    }
}
