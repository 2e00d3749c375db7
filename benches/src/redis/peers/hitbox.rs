//! `hitbox` over its backend for Redis, with its manager of concurrent calls: one load per key and process.

use hitbox::concurrency::BroadcastConcurrencyManager;
use hitbox::policy::{ConcurrencyLimit, PolicyConfig};
use hitbox_fn::{Cache, cached};
use hitbox_redis::{ConnectionMode, RedisBackend};

use super::{Opened, PATIENCE, Shared, TTL};
use crate::load::Failure;
use crate::redis::source::{Answer, Source};

#[cached(prefix = "row", skip(source))]
async fn find(key: u64, source: Source) -> Result<String, Failure> {
    source.load(key).await
}

/// Its attribute.
pub(super) struct Hitbox(Cache<RedisBackend, BroadcastConcurrencyManager<Result<String, Failure>>>);

impl Shared for Hitbox {
    async fn connect(url: &str) -> Opened<Self> {
        let backend = RedisBackend::builder()
            .connection(ConnectionMode::single(url))
            .connection_timeout(PATIENCE)
            .response_timeout(PATIENCE)
            .build()?;
        let one = ConcurrencyLimit::new(1).expect("one is within its bounds");
        let cache = Cache::builder()
            .backend(backend)
            .policy(PolicyConfig::builder().ttl(TTL).concurrency(one).build())
            .concurrency_manager(BroadcastConcurrencyManager::new())
            .build();
        // The first call connects.
        find(0, Source::of(async || Ok(String::new()))).cache(&cache).await?;
        Ok(Self(cache))
    }

    async fn get(&self, key: u64, source: Source) -> Answer {
        find(key, source).cache(&self.0).await
    }
}
