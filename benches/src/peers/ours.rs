//! Ours, in memory.

use std::sync::Arc;

use singleflight_core::{MemoryBackend, SingleFlight, single_flight};

use crate::load::{Answer, Failure, Load};
use crate::peer::Peer;

/// The attribute.
pub struct Ours {
    flights: SingleFlight,
}

impl Ours {
    #[single_flight(key = "row:<key>", ttl = 300, lock_ttl_ms = 500, skip(load), flights = &self.flights)]
    async fn find(&self, key: u64, load: Load) -> Result<u64, Failure> {
        load.run(key).await
    }
}

impl Peer for Ours {
    const NAME: &'static str = "`#[single_flight]`";

    fn new() -> Self {
        Self { flights: SingleFlight::in_memory() }
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        self.find(key, load).await
    }

    async fn remove(&self, key: u64) {
        self.flights.invalidate(&format!("row:{key}")).await.expect("memory is always there");
    }
}

/// The attribute, entries in quick_cache.
pub struct OursQuick(Ours);

impl Peer for OursQuick {
    const NAME: &'static str = "`#[single_flight]` over quick_cache";

    fn new() -> Self {
        let backend = Arc::new(MemoryBackend::builder().quick().build());
        Self(Ours { flights: SingleFlight::builder().backend(backend).build() })
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        self.0.get(key, load).await
    }

    async fn remove(&self, key: u64) {
        self.0.remove(key).await;
    }
}

/// The attribute, its loads tasks of their own.
#[derive(Clone)]
pub struct OursSpawned {
    flights: SingleFlight,
}

impl OursSpawned {
    #[single_flight(key = "row:<key>", ttl = 300, lock_ttl_ms = 500, skip(load), spawn, flights = &self.flights)]
    async fn find(&self, key: u64, load: Load) -> Result<u64, Failure> {
        load.run(key).await
    }
}

impl Peer for OursSpawned {
    const NAME: &'static str = "`#[single_flight(spawn)]`";

    fn new() -> Self {
        Self { flights: SingleFlight::in_memory() }
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        self.find(key, load).await
    }

    async fn remove(&self, key: u64) {
        self.flights.invalidate(&format!("row:{key}")).await.expect("memory is always there");
    }
}

/// By hand.
pub struct OursByHand {
    flights: SingleFlight,
}

impl Peer for OursByHand {
    const NAME: &'static str = "ours by hand, `flight(..).run(..)`";

    fn new() -> Self {
        Self { flights: SingleFlight::in_memory() }
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        let name = format!("row:{key}");
        self.flights.flight(&name).ttl(std::time::Duration::from_secs(300)).run(|| load.run(key)).await
    }

    async fn remove(&self, key: u64) {
        self.flights.invalidate(&format!("row:{key}")).await.expect("memory is always there");
    }
}
