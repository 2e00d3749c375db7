//! A follower's place in a flight.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::state::{Seat, Standing, State};
use super::{Crew, Flight, Lead, Watchdog};
use crate::sync::{Arc, lock};

/// Waits for the flight to end, or for leadership.
///
/// # Cancel safety
/// Dropping it gives up the seat; leadership that had just been given to it goes to the next one.
pub(crate) struct Follow<C: Crew> {
    flight: Arc<Flight<C>>,
    /// `None` once it has left.
    seat: Option<usize>,
}

/// What waiting came to.
pub(crate) enum Followed<C: Crew> {
    /// The flight's outcome.
    Answer(C::Outcome),
    /// The flight ended without one that concerns this caller.
    Again,
    /// This caller leads now.
    Lead(Lead<C>),
    /// Its wait budget has run out.
    Expired,
    /// Someone runs the fill, and this caller will not wait.
    Busy,
}

impl<C: Crew> Follow<C> {
    pub(super) fn new(flight: Arc<Flight<C>>, seat: usize) -> Self {
        Self { flight, seat: Some(seat) }
    }

    pub(crate) fn flight(&self) -> &Arc<Flight<C>> {
        &self.flight
    }

    /// What this seat is told now, if anything.
    fn told(&self, state: &State<C>, seat: &Seat) -> Option<Followed<C>> {
        if let Standing::Promoted(reign) = seat.standing {
            // Deposed before it was ever polled: someone else leads, or the flight is over.
            let current = state.reign == reign && state.done.is_none();
            return Some(if current {
                Followed::Lead(Lead::new(self.flight.clone(), reign))
            } else {
                Followed::Again
            });
        }
        if let Some(done) = &state.done {
            return Some(match &done.outcome {
                Some(outcome) if done.before.includes(seat) => Followed::Answer(outcome.clone()),
                _ => Followed::Again,
            });
        }
        match seat.standing {
            Standing::Expired => Some(Followed::Expired),
            _ if seat.impatient && state.busy => Some(Followed::Busy),
            _ => None,
        }
    }
}

impl<C: Crew> Future for Follow<C> {
    type Output = Followed<C>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Followed<C>> {
        let Some(at) = self.seat else { return Poll::Ready(Followed::Again) };
        let mut state = lock(&self.flight.state);
        if let Some(told) = self.told(&state, &state.seats[at]) {
            let seat = state.seats.remove(at);
            drop(state);
            drop(seat);
            self.seat = None;
            return Poll::Ready(told);
        }
        let stale = match &mut state.seats[at].waker {
            Some(waker) if waker.will_wake(cx.waker()) => None,
            waker => waker.replace(cx.waker().clone()),
        };
        // The runtime of the one that started the watchdog may be gone while others still wait.
        let unwatched = !std::mem::replace(&mut state.watch.on, true);
        drop(state);
        drop(stale);
        if unwatched {
            self.flight.table.crew().watch(Watchdog::new(self.flight.clone()));
        }
        Poll::Pending
    }
}

impl<C: Crew> Drop for Follow<C> {
    fn drop(&mut self) {
        let Some(at) = self.seat.take() else { return };
        let mut state = lock(&self.flight.state);
        let seat = state.seats.remove(at);
        drop(state);
        if let Standing::Promoted(reign) = seat.standing {
            // The baton had just been passed here: pass it on. Does nothing if that reign is over.
            drop(Lead::new(self.flight.clone(), reign));
        }
    }
}

impl<C: Crew> fmt::Debug for Follow<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("flight", &self.flight).field("seat", &self.seat).finish()
    }
}
