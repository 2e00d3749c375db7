//! What the comparison and the processes of its fleets say to each other: one JSON document per line, on standard input
//! and output.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::peers::Kind;

/// What a worker is started for, in its environment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) kind: Kind,
    pub(super) url: String,
}

/// Callers of one key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Herd {
    /// Greater than that of any herd before.
    pub(super) key: u64,
    pub(super) callers: usize,
    /// How long a load takes at least.
    pub(super) load_ms: u64,
    /// Whether loads fail.
    pub(super) fails: bool,
}

/// What a worker is told. The end of its standard input ends it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Send a herd.
    Ask(Herd),
    /// Loads of this key may end, once they have taken their time.
    Release { key: u64 },
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    /// It has its connections.
    Ready,
    /// All its callers have called.
    Asked,
    /// A load has begun: said by the load.
    Loading { at: Moment },
    /// All its callers have been answered.
    Done { replies: Vec<Reply>, ends: Vec<Moment> },
    /// It cannot go on.
    Failed { message: String },
}

/// What one caller got.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) at: Moment,
    /// Whether it ran the load itself.
    pub(super) loaded: bool,
    pub(super) error: bool,
}

/// A moment by this machine's clock, which all processes share, in microseconds. Good for figures only: it may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Moment(i64);

impl Moment {
    pub(super) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    pub(super) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Milliseconds from another one to this, less than nothing if it comes first.
    pub(super) fn ms_since(self, other: Self) -> f64 {
        (self.0 - other.0) as f64 / 1e3
    }
}
