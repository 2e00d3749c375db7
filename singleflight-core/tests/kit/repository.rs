//! The code under test: a repository as a service would have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use singleflight_core::{FlightError, invalidates, single_flight};

/// Users somewhere, whose reads are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Users {
    pub(crate) queries: Arc<AtomicU64>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    /// Which query read it.
    pub(crate) query: u64,
}

impl Users {
    #[single_flight(key = "user:<id>", ttl = 30, soft_ttl = 10, lock_ttl_ms = 1500)]
    pub(crate) async fn find(&self, id: u64) -> Result<User, FlightError> {
        Ok(User { id, query: self.queries.fetch_add(1, Ordering::SeqCst) + 1 })
    }

    #[single_flight(key = "user-slow:<id>", skip(gate), ttl = 60, lock_ttl_ms = 1500)]
    pub(crate) async fn slow(&self, id: u64, gate: &tokio::sync::Semaphore) -> Result<u64, FlightError> {
        let _permit = gate.acquire().await;
        Ok(id)
    }

    #[single_flight(key = "count", ttl = 5, name = "users.count")]
    pub(crate) async fn count(&self) -> Result<u64, FlightError> {
        Ok(self.queries.fetch_add(1, Ordering::SeqCst) + 1)
    }

    #[invalidates(key = "user:<id>")]
    pub(crate) async fn rename(&self, id: u64) {}
}

/// The query that read the user with this id, by `users` on `kit`.
pub(crate) async fn read(kit: &singleflight_core::testing::Kit, users: &Users, id: u64) -> u64 {
    kit.scope(users.find(id)).await.expect("it is found").query
}
