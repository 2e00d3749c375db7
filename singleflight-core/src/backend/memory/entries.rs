//! Where entries are kept: in moka, or in `quick_cache`.

use std::sync::Arc;

use super::stored::Stored;
use crate::hashing::Hasher;

type Moka = moka::sync::Cache<Arc<str>, Stored, Hasher>;
#[cfg(feature = "quick")]
type Quick = quick_cache::sync::Cache<Arc<str>, Stored, quick_cache::UnitWeighter, Hasher>;

/// A bounded map, read without any lock of ours and changed under the lock of the key's shard.
///
/// Either may let go of an entry in any call, in the calling thread; see [`Hold`](super::Hold).
pub(super) enum Entries {
    Moka(Moka),
    #[cfg(feature = "quick")]
    Quick(Box<Quick>),
}

impl Entries {
    /// Those of moka, without an expiry of its own: it costs every hit about a tenth. `Shard::sweep_if_due` frees what has
    /// expired, here and there.
    pub(super) fn moka(capacity: u64) -> Self {
        let builder = moka::sync::Cache::builder().max_capacity(capacity);
        Self::Moka(builder.build_with_hasher(Hasher::default()))
    }

    #[cfg(feature = "quick")]
    pub(super) fn quick(capacity: u64) -> Self {
        let items = usize::try_from(capacity).unwrap_or(usize::MAX);
        let lifecycle = quick_cache::sync::DefaultLifecycle::default();
        let hasher = Hasher::default();
        Self::Quick(Box::new(Quick::with(items, capacity, quick_cache::UnitWeighter, hasher, lifecycle)))
    }

    #[inline]
    pub(super) fn get(&self, key: &str) -> Option<Stored> {
        match self {
            Self::Moka(moka) => moka.get(key),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => quick.get(key),
        }
    }

    /// Whether there is one, which is not counted as a use of it.
    pub(super) fn contains(&self, key: &str) -> bool {
        match self {
            Self::Moka(moka) => moka.contains_key(key),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => quick.contains_key(key),
        }
    }

    pub(super) fn insert(&self, key: Arc<str>, stored: Stored) {
        match self {
            Self::Moka(moka) => moka.insert(key, stored),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => quick.insert(key, stored),
        }
    }

    pub(super) fn remove(&self, key: &str) -> Option<Stored> {
        match self {
            Self::Moka(moka) => moka.remove(key),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => quick.remove(key).map(|(_, stored)| stored),
        }
    }

    /// The same, where nobody asks what it was.
    pub(super) fn drop(&self, key: &str) {
        match self {
            Self::Moka(moka) => moka.invalidate(key),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => drop(quick.remove(key)),
        }
    }

    /// Removes all; what is stored meanwhile may stay.
    pub(super) fn clear(&self) {
        match self {
            Self::Moka(moka) => moka.invalidate_all(),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => quick.clear(),
        }
    }

    /// How many there are, about.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Moka(moka) => moka.entry_count(),
            #[cfg(feature = "quick")]
            Self::Quick(quick) => quick.len() as u64,
        }
    }

    /// Does what has been put off.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn settle(&self) {
        match self {
            Self::Moka(moka) => moka.run_pending_tasks(),
            #[cfg(feature = "quick")]
            Self::Quick(_) => {}
        }
    }
}
