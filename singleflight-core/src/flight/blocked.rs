//! Which fill waits for which flight: two fills that wait for each other are found when the second begins to wait.

use std::fmt;

use smallvec::SmallVec;

use super::{Crew, Flight};
use crate::sync::{Arc, Weak, lock};

/// Says, while it lives, that the body of some flights waits for another flight.
pub(crate) struct Blocked<C: Crew> {
    waiting: SmallVec<[Arc<Flight<C>>; 2]>,
    on: Weak<Flight<C>>,
}

impl<C: Crew> Blocked<C> {
    /// Looks no further than this; a longer chain ends at the wait budget.
    const FAR: usize = 1000;

    /// Notes that the fills in `inside` wait for `on`; `None` if `on` waits for one of them already.
    ///
    /// Noted first, then looked for: of two callers that close a circle at the same time, the later to note sees the
    /// other's note, since both go through the flights' locks.
    pub(crate) fn wait_for<'a>(
        inside: impl Iterator<Item = &'a Arc<Flight<C>>>,
        on: &Arc<Flight<C>>,
    ) -> Option<Self> {
        let blocked = Self { waiting: inside.cloned().collect(), on: Arc::downgrade(on) };
        for flight in &blocked.waiting {
            lock(&flight.state).blocked_on.push(blocked.on.clone());
        }
        (blocked.waiting.is_empty() || !blocked.closes_a_circle(on)).then_some(blocked)
    }

    fn closes_a_circle(&self, on: &Arc<Flight<C>>) -> bool {
        let mut met = vec![on.clone()];
        let mut at = 0;
        while at < met.len() && at < Self::FAR {
            if self.waiting.iter().any(|flight| Arc::ptr_eq(flight, &met[at])) {
                return true;
            }
            // One lock at a time.
            let next: Vec<_> = lock(&met[at].state).blocked_on.iter().filter_map(Weak::upgrade).collect();
            for flight in next {
                if !met.iter().any(|other| Arc::ptr_eq(other, &flight)) {
                    met.push(flight);
                }
            }
            at += 1;
        }
        false
    }
}

impl<C: Crew> Drop for Blocked<C> {
    fn drop(&mut self) {
        for flight in &self.waiting {
            let mut state = lock(&flight.state);
            if let Some(at) = state.blocked_on.iter().position(|on| Weak::ptr_eq(on, &self.on)) {
                state.blocked_on.swap_remove(at);
            }
        }
    }
}

impl<C: Crew> fmt::Debug for Blocked<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocked").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}
