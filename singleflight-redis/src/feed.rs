//! What changes under a prefix, for copies in front of the server: one pattern for all its keys, on the connection of the
//! waiters' subscriptions.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use redis::Value;
use singleflight_core::backend::{Change, Changes, News, Token};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::keys::Keyspace;
use crate::notify::Hub;
use crate::watch::change;

/// News that a listener may lag behind before it is told that it missed some.
const BACKLOG: usize = 4096;

/// The patterns that someone listens to.
#[derive(Default)]
pub(crate) struct Feeds(Vec<Feed>);

struct Feed {
    pattern: Arc<str>,
    news: broadcast::Sender<News>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Wanted,
    Confirmed,
    /// The server will not have it; asked again on the next connection.
    Refused,
}

/// What the server is to be told of patterns.
pub(crate) enum Task {
    Subscribe(Arc<str>),
    Unsubscribe(Arc<str>),
}

impl Feeds {
    fn join(&mut self, pattern: Arc<str>) -> (broadcast::Receiver<News>, bool) {
        if let Some(feed) = self.0.iter().find(|feed| feed.pattern == pattern) {
            return (feed.news.subscribe(), feed.phase == Phase::Confirmed);
        }
        let (news, listener) = broadcast::channel(BACKLOG);
        self.0.push(Feed { pattern, news, phase: Phase::Wanted });
        (listener, false)
    }

    /// Whether anybody listens, so that the connection is to be kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next thing to be done. A pattern that nobody listens to any more is taken out: whoever begins to from now on
    /// waits for a subscription that is sent after the end of this one.
    pub(crate) fn task(&mut self) -> Option<Task> {
        while let Some(at) = self.0.iter().position(|feed| feed.news.receiver_count() == 0) {
            let feed = self.0.swap_remove(at);
            if feed.phase == Phase::Confirmed {
                return Some(Task::Unsubscribe(feed.pattern));
            }
        }
        let wanted = self.0.iter().find(|feed| feed.phase == Phase::Wanted)?;
        Some(Task::Subscribe(wanted.pattern.clone()))
    }

    pub(crate) fn settle(&mut self, pattern: &str, confirmed: bool) {
        for feed in self.0.iter_mut().filter(|feed| *feed.pattern == *pattern) {
            feed.phase = if confirmed { Phase::Confirmed } else { Phase::Refused };
            if confirmed {
                feed.tell(News::Listening);
            }
        }
    }

    /// The connection is gone.
    pub(crate) fn cut(&mut self) {
        for feed in &mut self.0 {
            if std::mem::replace(&mut feed.phase, Phase::Wanted) == Phase::Confirmed {
                feed.tell(News::Deaf);
            }
        }
    }

    /// Hands on a message: the pattern, the channel and what was said.
    pub(crate) fn hear(&self, keys: &Keyspace, message: &[Value]) {
        let [Value::BulkString(pattern), Value::BulkString(channel), Value::BulkString(said)] = message
        else {
            return;
        };
        let Some(feed) = self.0.iter().find(|feed| feed.pattern.as_bytes() == pattern) else { return };
        let key = std::str::from_utf8(channel).ok().and_then(|channel| keys.key_of_channel(channel));
        if let Some(news) = key.and_then(|key| news(key, said)) {
            feed.tell(news);
        }
    }
}

impl Feed {
    fn tell(&self, news: News) {
        // An error only says that nobody listens any more.
        let _ = self.news.send(news);
    }
}

/// What a message says of the entry; `None` if nothing.
fn news(key: Arc<str>, said: &[u8]) -> Option<News> {
    if let Some((b'p', grant)) = said.split_first()
        && let Ok(grant) = <[u8; 16]>::try_from(grant)
    {
        return Some(News::Published { key, grant: Token::new(grant) });
    }
    match change(said) {
        Change::Abandoned { .. } => None,
        // Whatever a later version may mean by it, the copy may be out of date.
        _ => Some(News::Invalidated { key }),
    }
}

/// One listener.
pub(crate) struct RedisChanges {
    hub: Arc<Hub>,
    pattern: Arc<str>,
    /// `None` only while being dropped.
    news: Option<broadcast::Receiver<News>>,
    /// It came when the server had confirmed the pattern already.
    began: bool,
}

impl RedisChanges {
    /// Begins to listen to all keys that begin with `prefix`.
    pub(crate) fn begin(hub: &Arc<Hub>, keys: &Keyspace, prefix: &str) -> Self {
        let pattern: Arc<str> = keys.channels(prefix).into();
        let (news, began) = hub.feeds(|feeds| feeds.join(pattern.clone()));
        Self { hub: hub.clone(), pattern, news: Some(news), began }
    }
}

#[async_trait]
impl Changes for RedisChanges {
    async fn next(&mut self) -> News {
        if std::mem::take(&mut self.began) {
            return News::Listening;
        }
        let Some(news) = &mut self.news else { return std::future::pending().await };
        match news.recv().await {
            Ok(news) => news,
            // It has missed some, and listens again.
            Err(RecvError::Lagged(_)) => News::Listening,
            // The feed is kept for as long as someone listens, so nobody comes here.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for RedisChanges {
    fn drop(&mut self) {
        // Before the hub is woken, which looks who still listens.
        self.news = None;
        self.hub.feeds(|_| ());
    }
}

impl fmt::Debug for RedisChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisChanges").field("pattern", &self.pattern).finish_non_exhaustive()
    }
}
