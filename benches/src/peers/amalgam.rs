//! `amalgam-cache`, in memory.

use std::time::Duration;

use amalgam::{Cache, EntryOptions};

use super::CAPACITY;
use crate::load::{Answer, Failure, Load};
use crate::peer::Peer;

/// Its look-up that loads; without a bound, as it is by default.
pub struct Amalgam(Cache<u64>);

impl Peer for Amalgam {
    const NAME: &'static str = "amalgam-cache `get_or_set`";

    fn new() -> Self {
        let cache = Cache::builder().default_options(EntryOptions::new(Duration::from_secs(300))).try_build();
        Self(cache.expect("options that it knows"))
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        let found = self.0.get_or_set(format!("row:{key}"), move |_| load.run(key)).await;
        found.map_err(|error| Failure::Peer(error.to_string()))
    }

    async fn remove(&self, key: u64) {
        self.0.remove(format!("row:{key}")).await.expect("memory is always there");
    }
}

/// The same with a bound.
pub struct AmalgamBounded(Amalgam);

impl Peer for AmalgamBounded {
    const NAME: &'static str = "amalgam-cache `get_or_set`, bounded";

    fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(CAPACITY.into())
            .default_options(EntryOptions::new(Duration::from_secs(300)))
            .try_build();
        Self(Amalgam(cache.expect("options that it knows")))
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        self.0.get(key, load).await
    }

    async fn remove(&self, key: u64) {
        self.0.remove(key).await;
    }
}
