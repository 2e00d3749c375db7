//! What users of systems like this one have stumbled over in its attribute, one test for each case. What they have met
//! across processes is in `src/suite/cases.rs` and `crowds.rs`, for every backend.
//!
//! Each test has engines of its own, and counts how often bodies run. Times are tokio's, paused: a body that sleeps
//! ends when everybody else waits.

#![deny(warnings)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::needless_lifetimes, reason = "named lifetimes are one of the cases")]

mod calls;
mod keys;
mod names;
mod results;
mod shapes;

use std::fmt::{self, Display};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use singleflight_core::testing::BytesBackend;
use singleflight_core::{Clock, SingleFlight};

/// How often bodies ran.
#[derive(Clone, Default)]
struct Loads(Arc<AtomicUsize>);

impl Loads {
    /// One more; which one it is.
    fn begin(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id(u64);

impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct LoadError;

fn is_send<T: Send>(value: T) -> T {
    value
}

/// An engine on this backend, as one of several processes, with TTLs as they are written.
fn process(backend: &Arc<BytesBackend>) -> SingleFlight {
    SingleFlight::builder().backend(backend.clone()).jitter(false).build()
}

fn bytes() -> Arc<BytesBackend> {
    Arc::new(BytesBackend::new(Clock::system()))
}

/// So many calls at once, each in a task of its own.
async fn race<T, F>(flights: &SingleFlight, callers: usize, call: impl Fn() -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let calls: Vec<_> = (0..callers).map(|_| tokio::spawn(flights.scope(call()))).collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.unwrap());
    }
    results
}
