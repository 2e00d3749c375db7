//! The attribute of `cached` for its store on Redis. `sync_writes`, which makes calls of one key wait for each other,
//! is refused there.

use std::sync::OnceLock;

use cached::AsyncRedisCache;
use cached::macros::concurrent_cached;

use super::{Opened, Shared, TTL};
use crate::load::Failure;
use crate::redis::source::{Answer, Source};

/// The store lives in a static.
static URL: OnceLock<String> = OnceLock::new();

#[concurrent_cached(
    map_error = "|error| Failure::Peer(error.to_string())",
    ty = "AsyncRedisCache<String, String>",
    create = "{ store().await }",
    key = "String",
    convert = r#"{ format!("row:{key}") }"#
)]
async fn find(key: u64, source: Source) -> Result<String, Failure> {
    source.load(key).await
}

async fn store() -> AsyncRedisCache<String, String> {
    let url = URL.get().expect("set when it connects");
    let store = AsyncRedisCache::builder("bench").ttl(TTL).connection_string(url);
    store.build().await.expect("the server is there")
}

/// It.
pub(super) struct Cached;

impl Shared for Cached {
    async fn connect(url: &str) -> Opened<Self> {
        let kept = URL.get_or_init(|| url.to_owned());
        if kept != url {
            return Err("`cached` has one store for a process".into());
        }
        // The first call connects.
        find(0, Source::of(async || Ok(String::new()))).await?;
        Ok(Self)
    }

    async fn get(&self, key: u64, source: Source) -> Answer {
        find(key, source).await
    }
}
