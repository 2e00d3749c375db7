//! `quick_cache`, which has no lifetimes.

use quick_cache::sync::Cache;

use super::CAPACITY;
use crate::load::{Answer, Load};
use crate::peer::Peer;

/// Its asynchronous look-up.
pub struct Quick(Cache<u64, u64>);

impl Peer for Quick {
    const NAME: &'static str = "quick_cache `get_or_insert_async`";

    fn new() -> Self {
        Self(Cache::new(CAPACITY as usize))
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        self.0.get_or_insert_async(&key, load.run(key)).await
    }

    async fn remove(&self, key: u64) {
        self.0.remove(&key);
    }
}
