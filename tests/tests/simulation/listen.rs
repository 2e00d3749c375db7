//! Hearing of changes over the network.

use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use singleflight_core::backend::{Change, Watch};

use crate::world::World;

/// Hears what the network lets through.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) world: Arc<World>,
    pub(crate) id: u64,
}

#[async_trait]
impl Watch for Listening {
    async fn changed(&mut self) -> Change {
        std::future::poll_fn(|cx| {
            let mut state = self.world.lock();
            let Some(watched) = state.ledger.watches.get_mut(&self.id) else { return Poll::Pending };
            if watched.inbox.is_empty() {
                watched.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(watched.inbox.remove(0))
        })
        .await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let watched = self.world.lock().ledger.watches.remove(&self.id);
        drop(watched);
    }
}
