//! What a backend tells of its own accord: to who waits for a key, and to who keeps copies.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

#[cfg(doc)]
use super::LeaseBackend;
use super::Token;

/// Listens to one key; see [`LeaseBackend::watch`].
#[async_trait]
pub trait Watch: Send + fmt::Debug {
    /// Waits for the next change since the watch began or since the last call.
    ///
    /// Changes that come close together may be reported as one, the last.
    ///
    /// # Cancel safety
    /// Dropping the future loses no change.
    async fn changed(&mut self) -> Change;
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A value was stored.
    Published,
    /// A lease ended without one.
    Abandoned {
        /// The token of that lease.
        grant: Token,
        /// The failure's message, if it ended in one.
        failure: Option<Arc<str>>,
    },
    /// The key was invalidated.
    Invalidated,
    /// Something may have been missed: look.
    Unknown,
}

/// All keys that change; see [`LeaseBackend::changes`].
#[async_trait]
pub trait Changes: Send + fmt::Debug {
    /// The next news, in the order in which things happened to each key. The first is [`News::Listening`].
    ///
    /// # Cancel safety
    /// Dropping the future loses no news.
    async fn next(&mut self) -> News;
}

/// What a feed of changes tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// From now on every change is told. Some before this may have been missed.
    Listening,
    /// From now on nothing is told, until it listens again.
    Deaf,
    /// A value was stored.
    Published {
        /// The key.
        key: Arc<str>,
        /// The grant under which it was stored.
        grant: Token,
    },
    /// A key was invalidated.
    Invalidated {
        /// The key.
        key: Arc<str>,
    },
}

impl News {
    /// The key that changed.
    #[must_use]
    pub const fn key(&self) -> Option<&Arc<str>> {
        match self {
            Self::Published { key, .. } | Self::Invalidated { key } => Some(key),
            Self::Listening | Self::Deaf => None,
        }
    }
}
