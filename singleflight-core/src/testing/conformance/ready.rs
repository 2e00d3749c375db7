//! Harnesses that are ready to be used.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::Harness;
use crate::backend::LeaseBackend;
use crate::clock::{Clock, ManualClock};

/// A harness for a backend that takes its time from a [`Clock`]: time passes at once.
///
/// # Cancel safety
/// Dropping the future makes nothing.
pub async fn in_process<B: LeaseBackend>(make: impl FnOnce(Clock) -> B) -> InProcess {
    let (clock, hand) = Clock::manual();
    InProcess { backend: Arc::new(make(clock)), hand }
}

/// A harness for a backend that has a time of its own, as a server has: it is waited for.
///
/// `connect` gives the backend, connected; a store that is shared by tests is no hindrance.
///
/// # Cancel safety
/// That of `connect`.
pub async fn in_real_time<B: LeaseBackend>(connect: impl Future<Output = B>) -> InRealTime {
    InRealTime(Arc::new(connect.await))
}

/// Made by [`in_process`].
#[derive(Debug)]
pub struct InProcess {
    backend: Arc<dyn LeaseBackend>,
    hand: ManualClock,
}

#[async_trait]
impl Harness for InProcess {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.backend.clone()
    }

    async fn pass(&self, time: Duration) {
        self.hand.advance(time);
        tokio::task::yield_now().await;
    }
}

/// Made by [`in_real_time`].
#[derive(Debug)]
pub struct InRealTime(Arc<dyn LeaseBackend>);

#[async_trait]
impl Harness for InRealTime {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.0.clone()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
