//! Keys to be invalidated when a write ends, however it ends.

use std::fmt;

use crate::SingleFlight;
use crate::key::Key;

/// Invalidates its keys when it is finished, or dropped because the write was.
pub struct Invalidating {
    flights: SingleFlight,
    /// The keys not yet invalidated, last first.
    keys: Vec<Key>,
}

impl Invalidating {
    /// These keys, on `flights` or else on the engine in force.
    #[must_use]
    pub fn new<const N: usize>(flights: Option<&SingleFlight>, keys: [Key; N]) -> Self {
        let flights = flights.map_or_else(SingleFlight::current, SingleFlight::clone);
        let mut keys: Vec<Key> = keys.into();
        keys.reverse();
        Self { flights, keys }
    }

    /// Invalidates them and waits until that is done. A key that the backend could not be told of is remembered and
    /// sent before the backend is used again; the write has happened, so its result stands.
    ///
    /// # Cancel safety
    /// Dropped before it ends, it hands what is left to the backend without waiting.
    pub async fn finish(mut self) {
        while let Some(key) = self.keys.last() {
            // Errors are remembered, counted and told to the observer by the engine.
            let _ = self.flights.invalidate(key.as_str()).await;
            self.keys.pop();
        }
    }
}

impl Drop for Invalidating {
    fn drop(&mut self) {
        for key in &self.keys {
            self.flights.post_invalidate(key.as_str());
        }
    }
}

impl fmt::Debug for Invalidating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invalidating").field("keys", &self.keys).finish_non_exhaustive()
    }
}
