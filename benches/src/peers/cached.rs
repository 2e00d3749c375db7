//! The attribute of `cached`, whose values live in statics.

use cached::CachedExt as _;
use cached::macros::cached;

use crate::load::{Answer, Failure, Load};
use crate::peer::Peer;

#[cached(max_size = 10_000, ttl_secs = 300, key = "u64", convert = { key })]
async fn plain(key: u64, load: Load) -> Result<u64, Failure> {
    load.run(key).await
}

#[cached(max_size = 10_000, ttl_secs = 300, key = "u64", convert = { key }, sync_writes = "by_key")]
async fn by_key(key: u64, load: Load) -> Result<u64, Failure> {
    load.run(key).await
}

/// As it is without options about concurrency.
pub struct Cached;

impl Peer for Cached {
    const NAME: &'static str = "`#[cached]`";

    fn new() -> Self {
        Self
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        plain(key, load).await
    }

    async fn remove(&self, key: u64) {
        PLAIN.write().await.remove(&key);
    }
}

/// Calls of one key one after the other.
pub struct CachedByKey;

impl Peer for CachedByKey {
    const NAME: &'static str = "`#[cached(sync_writes = \"by_key\")]`";

    fn new() -> Self {
        Self
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        by_key(key, load).await
    }

    async fn remove(&self, key: u64) {
        BY_KEY.write().await.remove(&key);
    }
}
