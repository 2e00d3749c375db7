//! What a service would write: a read of the source, with one line on it.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use singleflight_core::{FlightError, single_flight};

use crate::watched::Watched;

/// What the source holds under a key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// How often it was changed: tells an old row from a new one.
    pub(crate) version: u32,
    /// Which process loaded it.
    pub(crate) process: u32,
    /// When its load ended, in milliseconds after the race began.
    pub(crate) at: f64,
    /// Loaded while the store was away.
    pub(crate) degraded: bool,
}

impl Row {
    /// What is shown while the real one is being loaded.
    const PLACEHOLDER: Self = Self { version: 0, process: 0, at: 0.0, degraded: false };
}

/// Why there is no row.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ItemError {
    #[error("{0}")]
    Source(Arc<str>),
    #[error(transparent)]
    Flight(#[from] FlightError),
}

/// Where rows are read.
#[async_trait]
pub(crate) trait Reads: Send + Sync {
    /// The row of a key, for the caller that leads the load.
    async fn read(&self, process: u32, key: u32, call: u32) -> Result<Row, Arc<str>>;
}

/// The items, as one process reads them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Items {
    pub(crate) source: Arc<dyn Reads>,
    pub(crate) process: u32,
    /// Tells whether the store is there.
    pub(crate) store: Arc<Watched>,
}

/// The names of the functions below, for policies that are chosen at run time.
pub(crate) const FUNCTIONS: [&str; 2] = ["items::find", "items::find_spawned"];

impl Items {
    /// An item. The policy is the setting's; what stands here is what only the compiler can know.
    #[single_flight(key = "item:<key>", ttl = 60, losers = "default", default = Row::PLACEHOLDER, skip(call))]
    pub(crate) async fn find(&self, key: u32, call: u32) -> Result<Row, ItemError> {
        self.load(key, call).await
    }

    /// The same, by a task of its own that outlives its caller.
    #[single_flight(key = "item:<key>", ttl = 60, losers = "default", default = Row::PLACEHOLDER, skip(call), spawn)]
    pub(crate) async fn find_spawned(&self, key: u32, call: u32) -> Result<Row, ItemError> {
        self.load(key, call).await
    }

    /// The expensive part.
    async fn load(&self, key: u32, call: u32) -> Result<Row, ItemError> {
        let degraded = self.store.is_away();
        let row = self.source.read(self.process, key, call).await.map_err(ItemError::Source)?;
        Ok(Row { degraded, ..row })
    }
}
