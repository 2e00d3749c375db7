//! What SQLite calls while it runs a query: counts it, and makes it slow.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// Counts queries, and lets each take its time. Called on SQLite's threads, which it may block.
#[derive(Debug)]
pub(crate) struct Meter {
    load: Duration,
    reached: watch::Sender<u64>,
    /// The last query that may go on; those after it wait.
    last: Mutex<u64>,
    moved: Condvar,
}

impl Meter {
    pub(crate) fn new(load: Duration) -> Self {
        Self { load, reached: watch::Sender::new(0), last: Mutex::new(u64::MAX), moved: Condvar::new() }
    }

    /// A query is being run: stands for the work it would be on tables of a real size.
    pub(crate) fn query(&self) {
        let mut number = 0;
        self.reached.send_modify(|reached| {
            *reached += 1;
            number = *reached;
        });
        let last = self.last();
        drop(self.moved.wait_while(last, |last| number > *last).unwrap_or_else(PoisonError::into_inner));
        std::thread::sleep(self.load);
    }

    /// How many queries have reached SQLite.
    pub(crate) fn queries(&self) -> u64 {
        *self.reached.borrow()
    }

    /// Waits until so many have.
    pub(crate) async fn reached(&self, queries: u64) {
        // The sender is `self`: it cannot have gone.
        let _ = self.reached.subscribe().wait_for(|reached| *reached >= queries).await;
    }

    /// Lets no query after the `last`th go on until told otherwise. Scenes hold queries back until they have done
    /// what they show, so that what they show does not hang on how fast the machine is.
    pub(crate) fn hold_after(&self, last: u64) {
        *self.last() = last;
        self.moved.notify_all();
    }

    /// Lets all queries go on.
    pub(crate) fn release(&self) {
        self.hold_after(u64::MAX);
    }

    fn last(&self) -> MutexGuard<'_, u64> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
