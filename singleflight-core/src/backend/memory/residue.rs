//! What tests may look at in the memory backend, and change.

use std::sync::PoisonError;

use super::stored::Stored;
use super::{Hold, MemoryBackend};
#[cfg(feature = "test-util")]
use crate::backend::Token;
#[cfg(feature = "test-util")]
use crate::entry::Payload;

/// What is left of flights in a [`MemoryBackend`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Residue {
    /// Leases not ended and not expired.
    pub leases: usize,
    /// Failures still told to someone: cool-downs, and the notes for those who were waiting.
    pub failures: usize,
    /// Watches not dropped.
    pub watches: usize,
    /// Keys for which anything but an entry is kept, be it expired.
    pub rows: usize,
}

impl MemoryBackend {
    /// Counts what flights have left behind. Not atomic across keys.
    #[must_use]
    pub fn residue(&self) -> Residue {
        let mut residue = Residue::default();
        for shard in &self.shared.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.count(self.shared.clock.now(), &mut residue);
        }
        residue
    }

    /// How many entries are in memory, expired ones included.
    #[must_use]
    pub fn entries(&self) -> u64 {
        let _hold = Hold::begin();
        self.shared.entries.settle();
        self.shared.entries.count()
    }
}

#[cfg(feature = "test-util")]
impl MemoryBackend {
    /// The token that holds the key's lease: what a faulty backend would have to know.
    pub(crate) fn live_token(&self, key: &str) -> Option<Token> {
        self.shared.lock(key).holder(key, self.shared.clock.now())
    }

    /// Changes a stored payload and leaves all else as it is; `false` where there is no entry.
    pub(crate) fn replace(&self, key: &str, payload: Payload) -> bool {
        let _hold = Hold::begin();
        let shard = self.shared.lock(key);
        let Some(old) = self.shared.live(key, &shard, self.shared.clock.now()) else { return false };
        self.shared.entries.insert(key.into(), Stored::new(payload, old.stamp, old.soft, old.hard));
        true
    }
}
