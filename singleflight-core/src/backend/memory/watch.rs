//! Listening: to one key, and to all.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::Shared;
use crate::backend::{Change, Changes, News, Watch};

/// A watch on one key; it is registered in the key's row until dropped.
pub(super) struct MemoryWatch {
    shared: Arc<Shared>,
    key: Arc<str>,
    /// `None` only while being dropped.
    receiver: Option<watch::Receiver<Change>>,
}

impl MemoryWatch {
    pub(super) fn begin(shared: &Arc<Shared>, key: &str) -> Self {
        let receiver = shared.lock(key).listen(key);
        Self { shared: shared.clone(), key: key.into(), receiver: Some(receiver) }
    }
}

#[async_trait]
impl Watch for MemoryWatch {
    async fn changed(&mut self) -> Change {
        if let Some(receiver) = &mut self.receiver
            && receiver.changed().await.is_ok()
        {
            return receiver.borrow_and_update().clone();
        }
        // The row keeps the sender for as long as a watch lives, so nobody comes here; nothing would ever change.
        std::future::pending().await
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            let mut shard = self.shared.lock(&self.key);
            shard.leave(&self.key, receiver, self.shared.clock.now());
        }
    }
}

impl fmt::Debug for MemoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWatch").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The keys that change, through a bounded queue.
#[derive(Debug)]
pub(super) struct MemoryChanges {
    news: broadcast::Receiver<News>,
    prefix: Box<str>,
    /// Whether it has said that it listens.
    began: bool,
}

impl MemoryChanges {
    pub(super) fn new(news: broadcast::Receiver<News>, prefix: &str) -> Self {
        Self { news, prefix: prefix.into(), began: false }
    }
}

#[async_trait]
impl Changes for MemoryChanges {
    async fn next(&mut self) -> News {
        if !std::mem::replace(&mut self.began, true) {
            return News::Listening;
        }
        loop {
            let news = match self.news.recv().await {
                Ok(news) => news,
                // It has missed some, and listens again.
                Err(RecvError::Lagged(_)) => return News::Listening,
                // The backend is gone, and nothing in it will change any more.
                Err(RecvError::Closed) => std::future::pending().await,
            };
            if news.key().is_none_or(|key| key.starts_with(&*self.prefix)) {
                return news;
            }
        }
    }
}
