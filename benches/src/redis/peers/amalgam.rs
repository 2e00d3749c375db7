//! `amalgam-cache` with all that it has for Redis: values, locks and notifications.

use std::sync::Arc;

use amalgam::provider::{
    JsonSerializer, RedisBackplane, RedisDistributedCache, RedisDistributedLocker, RedisIoOptions,
};
use amalgam::{Cache, EntryOptions};

use super::{LEASE, Opened, PATIENCE, Shared, TTL};
use crate::load::Failure;
use crate::redis::source::{Answer, Source};

/// Its look-up that loads, with values in memory in front of those on the server, or without.
pub(super) struct Amalgam<const MEMORY: bool>(Cache<String>);

impl<const MEMORY: bool> Shared for Amalgam<MEMORY> {
    async fn connect(url: &str) -> Opened<Self> {
        let patience = RedisIoOptions::new(PATIENCE, PATIENCE)?;
        let values = RedisDistributedCache::connect_with_options(url, patience, Default::default()).await?;
        let locker = RedisDistributedLocker::connect_with_options(url, patience).await?;
        let cache = Cache::builder()
            .distributed(Arc::new(values))
            .serializer(Arc::new(JsonSerializer))
            .backplane(Arc::new(RedisBackplane::connect(url).await?))
            .distributed_locker(Arc::new(locker))
            .lease_ttl(LEASE)
            .instance_id(format!("{}-{:016x}", std::process::id(), fastrand::u64(..)))
            .wait_for_initial_backplane_subscribe(true)
            .default_options(EntryOptions::new(TTL).with_skip_memory(!MEMORY, !MEMORY))
            .try_build()?;
        Ok(Self(cache))
    }

    async fn get(&self, key: u64, source: Source) -> Answer {
        let found =
            self.0.get_or_set(format!("row:{key}"), move |_| async move { source.load(key).await }).await;
        found.map_err(|error| Failure::Peer(error.to_string()))
    }
}
