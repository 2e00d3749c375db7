//! The leader's place in a flight.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::state::{Before, Done, State, Wakers, wake};
use super::{Crew, Flight, FlightTable};
use crate::sync::{Arc, lock};

/// The right to run a flight, and the duty to end it.
///
/// Dropped before it has ended the flight, it hands leadership and stage to the follower that has waited longest; with
/// nobody waiting the flight is over and the stage goes to the crew.
pub(crate) struct Lead<C: Crew> {
    flight: Arc<Flight<C>>,
    reign: u64,
    over: bool,
}

impl<C: Crew> Lead<C> {
    pub(super) fn new(flight: Arc<Flight<C>>, reign: u64) -> Self {
        Self { flight, reign, over: false }
    }

    pub(crate) fn flight(&self) -> &Arc<Flight<C>> {
        &self.flight
    }

    /// Says that this leader is alive.
    pub(crate) fn beat(&self, now: Instant) {
        self.flight.beat(self.reign, now);
    }

    /// How far the fill has got; `None` if this leader was deposed.
    pub(crate) fn stage(&self) -> Option<C::Stage> {
        let state = lock(&self.flight.state);
        (state.reign == self.reign).then(|| state.stage.clone())
    }

    /// Notes how far the fill has got; `false` if this leader was deposed.
    pub(crate) fn set_stage(&self, stage: C::Stage) -> bool {
        let mut state = lock(&self.flight.state);
        let current = state.reign == self.reign;
        let old = if current { std::mem::replace(&mut state.stage, stage) } else { stage };
        drop(state);
        drop(old);
        current
    }

    /// Sets the terms of this reign: how long it may go unheard, and when it ends in any case.
    pub(crate) fn set_terms(&self, patience: Duration, ends: Option<Instant>) {
        let mut state = lock(&self.flight.state);
        if state.reign == self.reign {
            (state.patience, state.ends) = (patience, ends);
            let watchdog: Wakers = state.watch.waker.take().into_iter().collect();
            drop(state);
            wake(watchdog);
        }
    }

    /// Tells those who will not wait whether the fill is on, here or elsewhere.
    pub(crate) fn set_busy(&self, busy: bool) {
        let mut state = lock(&self.flight.state);
        if state.busy == busy || state.reign != self.reign {
            return;
        }
        state.busy = busy;
        if !busy {
            return;
        }
        let impatient = state.seats.iter_mut().filter(|(_, seat)| seat.impatient);
        let wakers: Wakers = impatient.filter_map(|(_, seat)| seat.waker.take()).collect();
        drop(state);
        wake(wakers);
    }

    /// To be called right before the store is asked: an answer of the store is only for those who came before the
    /// question, since an invalidation may lie between.
    pub(crate) fn seal(&self, now: Instant) {
        let mut state = lock(&self.flight.state);
        if state.reign == self.reign {
            state.sealed = state.mark(now);
        }
    }

    /// To be called right before the body runs: where the store cannot say whether an invalidation lies between, its
    /// value is only for those who came before.
    pub(crate) fn board(&self, now: Instant) {
        let mut state = lock(&self.flight.state);
        if state.reign == self.reign {
            state.boarded = state.mark(now);
        }
    }

    /// Ends the flight with an outcome for everyone; `false` if this leader was deposed.
    pub(crate) fn answer(self, outcome: C::Outcome) -> bool {
        self.end(Some(outcome), |_| Before::Everyone)
    }

    /// Ends the flight with what the store answered: those who came after [`seal`](Self::seal) look again.
    pub(crate) fn answer_sealed(self, outcome: C::Outcome) -> bool {
        self.end(Some(outcome), |state| state.sealed)
    }

    /// Ends the flight with what the body gave and the store has not confirmed: those who came after
    /// [`board`](Self::board) look again.
    pub(crate) fn answer_boarded(self, outcome: C::Outcome) -> bool {
        self.end(Some(outcome), |state| state.boarded)
    }

    /// Ends the flight without an outcome: everyone looks again.
    pub(crate) fn dismiss(self) -> bool {
        self.end(None, |_| Before::Nobody)
    }

    fn end(mut self, outcome: Option<C::Outcome>, before: impl Fn(&State<C>) -> Before) -> bool {
        self.over = true;
        let flight = &self.flight;
        let mut shard = lock(flight.table.shard(&flight.id.key));
        let mut state = lock(&flight.state);
        if state.reign != self.reign {
            return false;
        }
        let before = before(&state);
        state.done = Some(Done { outcome, before });
        state.reign += 1;
        flight.reign.store(state.reign, Ordering::Relaxed);
        let stage = std::mem::take(&mut state.stage);
        FlightTable::remove(&mut shard, flight);
        let wakers = state.everyone();
        drop(state);
        drop(shard);
        drop(stage);
        wake(wakers);
        true
    }

    /// Hands over, or ends an empty flight and gives its stage to the crew.
    fn resign(&self) {
        let flight = &self.flight;
        let mut wakers = Wakers::new();
        let mut shard = lock(flight.table.shard(&flight.id.key));
        let mut state = lock(&flight.state);
        if state.reign != self.reign || state.done.is_some() {
            return;
        }
        let orphan = if state.promote(&mut wakers) {
            flight.heard.store(0, Ordering::Relaxed);
            None
        } else {
            // Under the table's lock nobody can join now. Seats that have expired but not yet left look again.
            state.done = Some(Done { outcome: None, before: Before::Nobody });
            state.reign += 1;
            FlightTable::remove(&mut shard, flight);
            wakers = state.everyone();
            Some(std::mem::take(&mut state.stage))
        };
        flight.reign.store(state.reign, Ordering::Relaxed);
        drop(state);
        drop(shard);
        if let Some(stage) = orphan {
            flight.table.crew().orphaned(&flight.id, stage);
        }
        wake(wakers);
    }
}

impl<C: Crew> Drop for Lead<C> {
    fn drop(&mut self) {
        if !self.over {
            self.resign();
        }
    }
}

impl<C: Crew> fmt::Debug for Lead<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lead")
            .field("flight", &self.flight)
            .field("reign", &self.reign)
            .finish_non_exhaustive()
    }
}
