//! What the program and the processes it starts say to each other: one JSON document per line, on standard input and
//! output.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What a worker is started for; in its environment, since a URL may hold a password and command lines are public.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) backend: WorkerBackend,
    pub(crate) database: PathBuf,
    pub(crate) load_ms: u64,
}

/// The backend a worker uses.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum WorkerBackend {
    /// Each process by itself.
    Memory,
    /// Nothing.
    Noop,
    /// Shared by all processes.
    Server { url: String, namespace: String },
}

/// What a worker is told. The end of its standard input ends it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Send so many callers.
    Ask { callers: u32 },
    /// Let queries go on; until then each waits in the database.
    Release,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// It has its connections.
    Ready,
    /// All its callers have asked.
    Asked,
    /// SQLite has begun a query.
    Querying { at: Moment },
    /// All its callers have been answered.
    Done(Outcome),
    /// It cannot go on.
    Failed { message: String },
}

/// How a worker's callers fared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) replies: Vec<Reply>,
    /// When the last body ended.
    pub(crate) filled: Option<Moment>,
    /// Renewals since the process began.
    pub(crate) renewals: u64,
    /// Publishes refused since the process began.
    pub(crate) fenced: u64,
}

/// What one caller got.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) at: Moment,
    pub(crate) by: By,
    /// The revision of the row; `None` for an error.
    pub(crate) revision: Option<i64>,
}

/// Whose work an answer was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum By {
    /// The caller's own.
    Itself,
    /// Someone else's, whom it waited for.
    Other,
    /// It was there already.
    Store,
}

/// A moment by this machine's clock, which all processes share, in microseconds. Good for figures only: it may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
    }
}
