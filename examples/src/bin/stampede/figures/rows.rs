//! The functions that are measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use singleflight_core::{SingleFlight, single_flight};
use tokio::time::sleep;

use crate::repository::User;

/// The namespace of their keys.
pub(crate) const NAMESPACE: &str = "figures";

/// Rows that are made up, and counted. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) flights: SingleFlight,
    made: Arc<AtomicU64>,
}

impl Rows {
    pub(crate) fn new(flights: SingleFlight) -> Self {
        Self { flights, made: Arc::default() }
    }

    /// How many loads there were.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// A row that stays fresh for as long as is measured.
    #[single_flight(key = "row:<id>", ttl = "10m", flights = &self.flights)]
    pub(crate) async fn find(&self, id: u32) -> Option<User> {
        Some(self.make(id).await)
    }

    /// One that is stale after 50 ms, and is then refreshed by one caller.
    #[single_flight(key = "soft:<id>", ttl = "10m", soft_ttl = "50ms", flights = &self.flights)]
    pub(crate) async fn find_soft(&self, id: u32) -> Option<User> {
        Some(self.make(id).await)
    }

    async fn make(&self, id: u32) -> User {
        self.made.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(5)).await;
        User { id, name: format!("user {id}"), email: format!("user{id}@example.org"), revision: 1 }
    }
}
