//! `foyer`, its cache in memory, which has no lifetimes.

use foyer_memory::{Cache, CacheBuilder};

use super::CAPACITY;
use crate::load::{Answer, Failure, Load};
use crate::peer::Peer;

/// Its look-up that fetches.
pub struct Foyer(Cache<u64, u64>);

impl Peer for Foyer {
    const NAME: &'static str = "foyer `get_or_fetch`";

    fn new() -> Self {
        Self(CacheBuilder::new(CAPACITY as usize).build())
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        match self.0.get_or_fetch(&key, || load.run(key)).await {
            Ok(entry) => Ok(*entry.value()),
            Err(error) => Err(Failure::Peer(error.to_string())),
        }
    }

    async fn remove(&self, key: u64) {
        self.0.remove(&key);
    }
}
