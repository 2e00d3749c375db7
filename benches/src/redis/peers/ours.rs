//! Ours, on Redis.

use std::sync::Arc;

use singleflight_core::{SingleFlight, single_flight};
use singleflight_redis::RedisBackend;

use super::{Opened, PATIENCE, Shared};
use crate::load::Failure;
use crate::redis::source::{Answer, Source};

/// The attribute.
pub(super) struct Ours {
    flights: SingleFlight,
}

impl Ours {
    #[single_flight(key = "row:<key>", ttl = 300, lock_ttl_ms = 1500, skip(source), flights = &self.flights)]
    async fn find(&self, key: u64, source: Source) -> Result<String, Failure> {
        source.load(key).await
    }
}

impl Shared for Ours {
    async fn connect(url: &str) -> Opened<Self> {
        let backend = RedisBackend::builder(url).dial_timeout(PATIENCE).response_timeout(PATIENCE);
        let backend = Arc::new(backend.connect().await?);
        Ok(Self { flights: SingleFlight::builder().backend(backend).build() })
    }

    async fn get(&self, key: u64, source: Source) -> Answer {
        self.find(key, source).await
    }
}
