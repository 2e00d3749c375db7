//! A stored value, and when it is let go.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use crate::entry::{Entry, Payload, Stamp};

/// An entry as the cache keeps it.
///
/// Dropping one may drop a user's value, whose `Drop` may do anything, call the store included. The cache drops entries
/// inside its own calls, some of which we make under a lock; hence the [`Hold`].
#[derive(Clone)]
pub(super) struct Stored {
    /// `None` only once taken.
    payload: Option<Payload>,
    pub(super) stamp: Stamp,
    /// Fresh until then.
    pub(super) soft: Instant,
    /// Gone from then on.
    pub(super) hard: Instant,
}

impl Stored {
    pub(super) const fn new(payload: Payload, stamp: Stamp, soft: Instant, hard: Instant) -> Self {
        Self { payload: Some(payload), stamp, soft, hard }
    }

    /// The entry as a reader finds it at `now`.
    pub(super) fn into_entry(mut self, now: Instant) -> Option<Entry> {
        if now >= self.hard {
            // With its payload still in it, which is then let go like any other.
            return None;
        }
        Entry::found(self.payload.take()?, self.stamp, now, self.soft, self.hard)
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        if let Some(payload) = self.payload.take() {
            let_go(payload);
        }
    }
}

/// While one lives, entries let go of in this thread wait; they are dropped when it ends.
///
/// Taken before a shard's lock and before any call into the cache, so that it ends after both.
#[must_use]
pub(crate) struct Hold {
    before: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Held,
    /// Held, and something waits.
    Waiting,
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Free) };
    static LET_GO: RefCell<Vec<Payload>> = const { RefCell::new(Vec::new()) };
}

impl Hold {
    #[inline]
    pub(crate) fn begin() -> Self {
        // Inside another one this changes nothing: the outer one ends it.
        let before = STATE.get();
        if before == State::Free {
            STATE.set(State::Held);
        }
        Self { before }
    }
}

impl Drop for Hold {
    #[inline]
    fn drop(&mut self) {
        if self.before == State::Free && STATE.replace(State::Free) == State::Waiting {
            drop_waiting();
        }
    }
}

#[cold]
fn drop_waiting() {
    // Taken out first: the drops below may begin holds of their own.
    let waiting = LET_GO.try_with(RefCell::take);
    drop(waiting);
}

fn let_go(payload: Payload) {
    if STATE.get() == State::Free {
        return drop(payload);
    }
    STATE.set(State::Waiting);
    // A thread about to end has no queue any more; its values are dropped here and now.
    let _ = LET_GO.try_with(move |waiting| waiting.borrow_mut().push(payload));
}
