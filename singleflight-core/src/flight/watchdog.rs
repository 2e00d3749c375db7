//! One timer per flight: it ends the wait of followers whose budget is used up, and deposes a leader that hangs.
//!
//! It runs as a task of its own, from the first follower until the last has left, because no member can be relied on:
//! a leader may be parked for ever in a `select!` that polls something else, and so may any follower.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::Instant;

use super::state::{Wakers, wake};
use super::{Crew, Flight, Lead};
use crate::clock::Clock;
use crate::sync::{Arc, lock};

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Looks after one flight.
pub(crate) struct Watchdog<C: Crew> {
    flight: Arc<Flight<C>>,
    /// Whether it ended by itself; one that is dropped by its runtime must be replaced.
    ended: bool,
}

impl<C: Crew> Watchdog<C> {
    pub(super) fn new(flight: Arc<Flight<C>>) -> Self {
        Self { flight, ended: false }
    }

    /// Looks after the flight until nobody waits in it.
    pub(crate) async fn run(mut self, clock: Clock) {
        let mut timer: Option<(Instant, Sleep)> = None;
        std::future::poll_fn(move |cx| {
            loop {
                let Some(until) = self.look(clock.now(), cx.waker()) else { return Poll::Ready(()) };
                timer.take_if(|(at, _)| *at != until);
                let (_, sleep) = timer.get_or_insert_with(|| {
                    let clock = clock.clone();
                    (until, Box::pin(async move { clock.sleep_until(until).await }) as Sleep)
                });
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                timer = None;
            }
        })
        .await;
    }

    /// Leaves the flight without a timer, where there is no runtime to keep one.
    pub(crate) fn give_up(mut self) {
        self.ended = true;
    }

    /// Does what is due, and says when to look again; `None` when nobody waits any more.
    pub(super) fn look(&mut self, now: Instant, waker: &Waker) -> Option<Instant> {
        loop {
            let mut wakers = Wakers::new();
            let mut state = lock(&self.flight.state);
            state.expire(now, &mut wakers);
            let deadline = if state.done.is_some() { None } else { state.next_deadline() };
            let dies = self.flight.dies(&state, now);
            let dead = deadline.is_some() && now >= dies;
            let until = deadline.map(|deadline| deadline.min(dies));
            if dead {
                state.reign += 1;
                self.flight.reign.store(state.reign, Ordering::Relaxed);
            } else {
                let last = std::mem::replace(&mut state.watch.waker, until.map(|_| waker.clone()));
                state.watch.until = until;
                state.watch.on = until.is_some();
                self.ended = until.is_none();
                wakers.extend(last.filter(|last| !last.will_wake(waker)));
            }
            let reign = state.reign;
            drop(state);
            wake(wakers);
            if !dead {
                return until;
            }
            self.depose(reign);
        }
    }

    /// Leads for a moment: settles what the deposed leader left, then hands over.
    fn depose(&self, reign: u64) {
        let lead = Lead::new(self.flight.clone(), reign);
        if let Some(stage) = lead.stage() {
            lead.set_stage(self.flight.table.crew().deposed(&self.flight.id, stage));
        }
    }
}

impl<C: Crew> Drop for Watchdog<C> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut state = lock(&self.flight.state);
        state.watch.on = false;
        let everyone = state.everyone();
        drop(state);
        // Whoever is polled next starts another one.
        wake(everyone);
    }
}

impl<C: Crew> fmt::Debug for Watchdog<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").field("flight", &self.flight).finish_non_exhaustive()
    }
}
