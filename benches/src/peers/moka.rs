//! `moka::future`.

use std::time::Duration;

use moka::future::Cache;

use super::CAPACITY;
use crate::load::{Answer, Failure, Load};
use crate::peer::Peer;

fn cache() -> Cache<u64, u64> {
    Cache::builder().max_capacity(CAPACITY.into()).time_to_live(Duration::from_secs(300)).build()
}

/// For loads that may fail.
pub struct MokaTryGetWith(Cache<u64, u64>);

impl Peer for MokaTryGetWith {
    const NAME: &'static str = "moka `try_get_with`";

    fn new() -> Self {
        Self(cache())
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        self.0.try_get_with(key, load.run(key)).await.map_err(|error| Failure::clone(&error))
    }

    async fn remove(&self, key: u64) {
        self.0.invalidate(&key).await;
    }
}

/// For loads that never fail; used where they do not.
pub struct MokaGetWith(Cache<u64, u64>);

impl Peer for MokaGetWith {
    const NAME: &'static str = "moka `get_with`";

    fn new() -> Self {
        Self(cache())
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        Ok(self.0.get_with(key, async { load.run(key).await.expect("a load that never fails") }).await)
    }

    async fn remove(&self, key: u64) {
        self.0.invalidate(&key).await;
    }
}
