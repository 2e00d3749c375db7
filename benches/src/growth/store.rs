//! Stores that are given many keys; each value is its key.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::sync::Cache as Moka;
use quick_cache::sync::Cache as Quick;
use singleflight_core::{MemoryBackend, SingleFlight, single_flight};
use tokio::runtime::{Builder, Runtime};

use crate::load::Failure;

/// Longer than any run.
const TTL: Duration = Duration::from_secs(3600);

/// Loads of this process, and values that were not found.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// What every store loads.
fn load(key: u64) -> u64 {
    LOADS.fetch_add(1, Ordering::Relaxed);
    key
}

/// How many loads there have been, in all stores of this process.
pub(super) fn loads() -> u64 {
    LOADS.load(Ordering::Relaxed)
}

/// A store that is filled, and then asked.
pub(super) trait Store {
    /// What is called.
    const NAME: &'static str;

    /// Empty, with room for so many.
    fn with_room(keys: usize) -> Self;

    /// Asks for keys that are not there.
    fn fill(&self, keys: impl Iterator<Item = u64>);

    /// Asks for keys that are there.
    fn hit(&self, keys: impl Iterator<Item = u64>);
}

/// The attribute.
pub(super) struct Ours {
    flights: SingleFlight,
    runtime: Runtime,
}

impl Ours {
    fn over(backend: MemoryBackend) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { flights: SingleFlight::builder().backend(Arc::new(backend)).build(), runtime }
    }

    #[single_flight(key = "row:<key>", ttl = 3600, lock_ttl_ms = 500, flights = &self.flights)]
    async fn find(&self, key: u64) -> Result<u64, Failure> {
        Ok(load(key))
    }
}

impl Store for Ours {
    const NAME: &'static str = "`#[single_flight]`";

    fn with_room(keys: usize) -> Self {
        Self::over(MemoryBackend::builder().capacity(keys as u64).build())
    }

    fn fill(&self, keys: impl Iterator<Item = u64>) {
        self.hit(keys);
    }

    fn hit(&self, keys: impl Iterator<Item = u64>) {
        self.runtime.block_on(async {
            for key in keys {
                let answer = black_box(self.find(black_box(key)).await);
                assert!(answer.is_ok(), "no load fails");
            }
        });
    }
}

/// The attribute, its entries in quick_cache.
pub(super) struct OursOverQuick(Ours);

impl Store for OursOverQuick {
    const NAME: &'static str = "`#[single_flight]` over quick_cache";

    fn with_room(keys: usize) -> Self {
        Self(Ours::over(MemoryBackend::builder().capacity(keys as u64).quick().build()))
    }

    fn fill(&self, keys: impl Iterator<Item = u64>) {
        self.0.fill(keys);
    }

    fn hit(&self, keys: impl Iterator<Item = u64>) {
        self.0.hit(keys);
    }
}

fn moka<K: std::hash::Hash + Eq + Send + Sync + 'static>(room: usize) -> Moka<K, u64> {
    Moka::builder().max_capacity(room as u64).time_to_live(TTL).build()
}

/// A key that each call makes, as ours does.
fn rendered(key: u64) -> String {
    format!("row:{key}")
}

/// By strings.
pub(super) struct MokaByString(Moka<String, u64>);

impl Store for MokaByString {
    const NAME: &'static str = "moka `get_with(format!(..))`";

    fn with_room(keys: usize) -> Self {
        Self(moka(keys))
    }

    fn fill(&self, keys: impl Iterator<Item = u64>) {
        self.hit(keys);
    }

    fn hit(&self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            black_box(self.0.get_with(rendered(black_box(key)), || load(key)));
        }
    }
}

/// By integers.
pub(super) struct MokaByNumber(Moka<u64, u64>);

impl Store for MokaByNumber {
    const NAME: &'static str = "moka `get(&u64)`, filled by `get_with`";

    fn with_room(keys: usize) -> Self {
        Self(moka(keys))
    }

    fn fill(&self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            black_box(self.0.get_with(black_box(key), || load(key)));
        }
    }

    fn hit(&self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            black_box(self.0.get(&black_box(key)).unwrap_or_else(|| load(key)));
        }
    }
}

/// By strings.
pub(super) struct QuickByString(Quick<String, u64>);

impl Store for QuickByString {
    const NAME: &'static str = "quick_cache `get_or_insert_with(&format!(..))`";

    fn with_room(keys: usize) -> Self {
        Self(Quick::new(keys))
    }

    fn fill(&self, keys: impl Iterator<Item = u64>) {
        self.hit(keys);
    }

    fn hit(&self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            let answer = self.0.get_or_insert_with(&rendered(black_box(key)), || Ok::<_, Failure>(load(key)));
            assert!(black_box(answer).is_ok(), "no load fails");
        }
    }
}

/// By integers.
pub(super) struct QuickByNumber(Quick<u64, u64>);

impl Store for QuickByNumber {
    const NAME: &'static str = "quick_cache `get(&u64)`, filled by `get_or_insert_with`";

    fn with_room(keys: usize) -> Self {
        Self(Quick::new(keys))
    }

    fn fill(&self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            let answer = self.0.get_or_insert_with(&black_box(key), || Ok::<_, Failure>(load(key)));
            assert!(black_box(answer).is_ok(), "no load fails");
        }
    }

    fn hit(&self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            black_box(self.0.get(&black_box(key)).unwrap_or_else(|| load(key)));
        }
    }
}
