//! `hitbox` over moka, with its manager of concurrent calls: one load per key.

use std::time::Duration;

use hitbox::concurrency::BroadcastConcurrencyManager;
use hitbox::policy::{ConcurrencyLimit, PolicyConfig};
use hitbox::{CacheKey, KeyPart};
use hitbox_backend::Backend;
use hitbox_backend::format::BincodeFormat;
use hitbox_fn::{Cache, cached};
use hitbox_moka::MokaBackend;

use super::CAPACITY;
use crate::load::{Answer, Failure, Load};
use crate::peer::Peer;

#[cached(prefix = "row", skip(load))]
async fn find(key: u64, load: Load) -> Result<u64, Failure> {
    load.run(key).await
}

/// Its attribute.
pub struct Hitbox(Cache<MokaBackend<BincodeFormat>, BroadcastConcurrencyManager<Result<u64, Failure>>>);

impl Peer for Hitbox {
    const NAME: &'static str = "hitbox `#[cached]`";

    fn new() -> Self {
        let one = ConcurrencyLimit::new(1).expect("one is within its bounds");
        let policy = PolicyConfig::builder().ttl(Duration::from_secs(300)).concurrency(one).build();
        Self(
            Cache::builder()
                .backend(
                    MokaBackend::builder().max_entries(CAPACITY.into()).value_format(BincodeFormat).build(),
                )
                .policy(policy)
                .concurrency_manager(BroadcastConcurrencyManager::new())
                .build(),
        )
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        find(key, load).cache(&self.0).await
    }

    async fn remove(&self, key: u64) {
        let parts = vec![KeyPart::new("fn", Some("row")), KeyPart::new("key", Some(key.to_string()))];
        let removed = self.0.backend().remove(&CacheKey::new("", 0, parts)).await;
        removed.expect("memory is always there");
    }
}
