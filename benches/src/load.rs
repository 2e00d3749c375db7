//! What callers ask for: a load of one number.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use singleflight_core::FlightError;

/// Why a caller got no value.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The load itself failed.
    #[error("the load failed")]
    Load,
    /// Ours says so.
    #[error(transparent)]
    Flight(#[from] FlightError),
    /// A peer says so, in its own words.
    #[error("{0}")]
    Peer(String),
}

/// The end of a call.
pub type Answer = Result<u64, Failure>;

/// A load that a caller brings along, should there be nothing to find.
#[derive(Clone)]
pub enum Load {
    /// Returns at once.
    Ready(u64),
    /// Runs something.
    Run(Arc<dyn Fn() -> BoxFuture<'static, Answer> + Send + Sync>),
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(value) => f.debug_tuple("Ready").field(value).finish(),
            Self::Run(_) => f.write_str("Run"),
        }
    }
}

impl Load {
    /// A load that runs this, anew each time.
    pub fn of<F>(run: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::Run(Arc::new(move || Box::pin(run())))
    }

    /// Runs it, for the key that a real load would need.
    pub async fn run(self, _key: u64) -> Answer {
        match self {
            Self::Ready(value) => Ok(value),
            Self::Run(run) => run().await,
        }
    }
}

/// A key that was never used in this process, since some peers keep their values in statics.
pub fn fresh_key() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
