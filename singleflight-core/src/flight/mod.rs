//! The flight table: at most one execution per key in this process, and everyone who wants its outcome.
//!
//! The table knows nothing of backends, leases or values: those are the [`Crew`]'s business.
//!
//! - [`table`]: who leads and who follows, in one critical section;
//! - [`seat`]: a follower's place in a flight;
//! - [`lead`]: the leader's place, which always ends in exactly one of answer, hand-over, orphan or deposition;
//! - [`state`]: what all of them share;
//! - [`watchdog`]: one timer per flight;
//! - [`blocked`]: which fill waits for which flight, to find circles.
//!
//! # Invariants
//!
//! 1. A flight in the table is not done: it is removed in the critical section that sets its outcome.
//! 2. A flight has one current leader: the [`Lead`] whose reign equals the flight's. Reigns only grow, so whoever was
//!    deposed can change nothing.
//! 3. Locks are taken in the order table shard, then flight; never two flights at once; none across an `.await`; no
//!    waker is called and no stage or outcome dropped under one.
//! 4. The stage belongs to the flight, not to a future, so a successor can go on where its predecessor was dropped.
//!    It is given away exactly once: to the crew, when nobody is left or when its leader is deposed.
//! 5. Removal compares identity, never the key alone: after an invalidate a key may name a younger flight.

mod blocked;
mod lead;
mod seat;
mod state;
mod table;
mod watchdog;

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;

use std::any::TypeId;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::sync::{Arc, Mutex};

pub(crate) use blocked::Blocked;
pub(crate) use lead::Lead;
pub(crate) use seat::{Follow, Followed};
pub(crate) use table::{FlightTable, Joined, Manner};
pub(crate) use watchdog::Watchdog;

/// Those who man the flights: what a stage is, and what becomes of one that is left over.
pub(crate) trait Crew: Send + Sync + Sized + 'static {
    /// How far the fill has got.
    type Stage: Clone + Default + Send;
    /// What a flight ends with.
    type Outcome: Clone + Send;

    /// Takes the stage of a flight that everyone has left. Called without locks, from `Drop`: must not block.
    fn orphaned(&self, id: &FlightId, stage: Self::Stage);

    /// Takes the stage of a leader that was deposed, and gives the one its successor begins with. The deposed leader
    /// may still wake up and act on what it was granted. Called without locks: must not block.
    fn deposed(&self, id: &FlightId, stage: Self::Stage) -> Self::Stage;

    /// Starts the flight's timer. Called without locks.
    fn watch(&self, watchdog: Watchdog<Self>);
}

/// What makes two calls the same: see [`FlightId::matches`].
#[derive(Clone, Debug)]
pub(crate) struct FlightId {
    pub(crate) key: Arc<str>,
    /// The stored type; with the key alone, two functions that share a template would meet in one flight.
    pub(crate) value: TypeId,
    /// The function.
    pub(crate) identity: u32,
    pub(crate) purpose: Purpose,
}

/// Flights of one key that go on side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing servable is known yet.
    Fill,
    /// There is a stale copy; whoever does not lead takes it.
    Refresh,
    /// A fresh value is wanted whatever is stored.
    Renewal,
    /// The wait budget of every member has run out: the one load without the lease.
    Overdue,
}

impl FlightId {
    fn matches(&self, other: &Self) -> bool {
        self.value == other.value && self.identity == other.identity && self.purpose == other.purpose
    }

    /// The same call with another purpose.
    pub(crate) fn with(&self, purpose: Purpose) -> Self {
        Self { purpose, ..self.clone() }
    }
}

/// One execution.
pub(crate) struct Flight<C: Crew> {
    id: FlightId,
    table: Arc<FlightTable<C>>,
    state: Mutex<state::State<C>>,
    /// When the leader was last polled, in nanoseconds since the table was made; 0 where it has not been yet.
    heard: AtomicU64,
    /// The reign of the current leader, readable without the lock.
    reign: AtomicU64,
    /// Whether the key was invalidated since this flight began.
    detached: AtomicBool,
}

impl<C: Crew> std::fmt::Debug for Flight<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flight").field("id", &self.id).finish_non_exhaustive()
    }
}
