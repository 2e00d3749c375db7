//! One waiter, and what messages say.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use singleflight_core::backend::{Change, Token, Watch};
use tokio::sync::broadcast;

use crate::notify::Hub;

/// What a message says.
pub(crate) fn change(message: &[u8]) -> Change {
    let ended =
        |rest: &[u8]| rest.split_first_chunk().map(|(grant, rest)| (Token::new(*grant), rest.to_vec()));
    match message.split_first() {
        Some((b'p', _)) => Change::Published,
        Some((b'x', [])) => Change::Invalidated,
        Some((kind @ (b'a' | b'f'), rest)) => match ended(rest) {
            Some((grant, message)) => {
                let failure = (*kind == b'f').then(|| Arc::from(String::from_utf8_lossy(&message)));
                Change::Abandoned { grant, failure }
            }
            None => Change::Unknown,
        },
        // A later version's: whatever it means, something happened.
        _ => Change::Unknown,
    }
}

/// One watcher.
pub(crate) struct RedisWatch {
    hub: Arc<Hub>,
    name: String,
    changes: broadcast::Receiver<Change>,
    closed: bool,
}

impl RedisWatch {
    pub(crate) fn new(hub: Arc<Hub>, name: String, changes: broadcast::Receiver<Change>) -> Self {
        Self { hub, name, changes, closed: false }
    }
}

#[async_trait]
impl Watch for RedisWatch {
    async fn changed(&mut self) -> Change {
        if self.closed {
            // Said once; whoever is left waits for the lease to end.
            return std::future::pending().await;
        }
        match self.changes.recv().await {
            Ok(change) => change,
            Err(broadcast::error::RecvError::Lagged(_)) => Change::Unknown,
            Err(broadcast::error::RecvError::Closed) => {
                self.closed = true;
                Change::Unknown
            }
        }
    }
}

impl Drop for RedisWatch {
    fn drop(&mut self) {
        self.hub.leave(&self.name);
    }
}

impl fmt::Debug for RedisWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisWatch").field("channel", &self.name).finish_non_exhaustive()
    }
}
