//! [`RedisBackend`], the contract's face of this crate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Changes, Invalidated, Medium, Note, Publish, Published, Released, Renewed,
    Token, Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::link::Link;
use singleflight_core::{BackendError, LeaseBackend};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinSet;

use crate::builder::RedisBuilder;
use crate::feed::RedisChanges;
use crate::link::Lines;
use crate::notify::Hub;
use crate::{post, steps};

/// Keeps entries and leases on a Redis or Valkey server, shared by all processes that use it.
///
/// Cheap to clone; clones are the same connections. They end when the last clone is dropped.
///
/// A read is one round trip of one or two plain commands: the value, and unless the server said so within the last second,
/// how long it has left. Every other step is one script, hence atomic. What time it is, only the server is asked; the
/// process's own clock says how much has passed since.
#[derive(Clone)]
pub struct RedisBackend {
    inner: Arc<Inner>,
}

struct Inner {
    lines: Arc<Lines>,
    hub: Arc<Hub>,
    notes: mpsc::Sender<Note>,
    /// Ends with this.
    tasks: JoinSet<()>,
}

impl RedisBackend {
    /// A backend on the servers of this URL, in which `valkey` may stand for `redis`:
    ///
    /// | URL | means |
    /// |---|---|
    /// | `redis://[user[:password]@]host[:port][/database]` | a server |
    /// | `rediss://…` | the same by TLS, with the feature `tls`; whom it trusts are the authorities of the operating system (or of the file that `SSL_CERT_FILE` names) unless `RedisBuilder::ca` says otherwise |
    /// | `redis+unix:///path[?db=…&user=…&pass=…]` | a server behind a Unix socket |
    /// | `redis+sentinel://[user[:password]@]host[:port],…/primary[/database]` | the primary that these sentinels know by this name; user and password are for it, `?sentinel_user=…&sentinel_password=…` for the sentinels |
    /// | `redis+cluster://[user[:password]@]host[:port],…` | a cluster of which these are some nodes, with the feature `cluster` |
    ///
    /// Sentinels and clusters are spoken to by TLS where the scheme begins with `rediss+`. Name several of them: one that
    /// is away cannot say where the others are.
    ///
    /// ```no_run
    /// use singleflight_core::SingleFlight;
    /// use singleflight_redis::RedisBackend;
    /// use std::sync::Arc;
    ///
    /// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
    /// let backend = RedisBackend::builder("redis://cache.internal:6379").connect().await?;
    /// SingleFlight::builder().backend(Arc::new(backend)).namespace("shop").build().install()?;
    /// # Ok(()) }
    /// ```
    ///
    /// Any of them takes `?response_timeout_ms=…&dial_timeout_ms=…`, where the builder is not told:
    /// [`response_timeout`](RedisBuilder::response_timeout) and [`dial_timeout`](RedisBuilder::dial_timeout).
    ///
    /// A namespace is the engine's, as above: `?namespace=` in a URL is for [`from_env`](crate::from_env) and has no effect
    /// here.
    pub fn builder(url: &str) -> RedisBuilder {
        RedisBuilder::new(url)
    }

    /// Must be called within a runtime.
    pub(crate) fn start(lines: Lines, hub: Hub, mut first: Option<crate::link::Dialled>) -> Self {
        let (lines, hub) = (Arc::new(lines), Arc::new(hub));
        let (notes, queue) = mpsc::channel(post::QUEUE);
        let mut tasks = JoinSet::new();
        for at in 0..lines.len() {
            tasks.spawn(lines.clone().keep(at, first.take()));
        }
        tasks.spawn(lines.clone().follow());
        tasks.spawn(hub.clone().keep());
        tasks.spawn(post::run(lines.clone(), queue));
        Self { inner: Arc::new(Inner { lines, hub, notes, tasks }) }
    }

    fn lines(&self) -> &Lines {
        &self.inner.lines
    }

    /// How many channels this process is subscribed to, or about to be; those that nobody waits on any more count for
    /// about a second.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.inner.hub.count().0
    }
}

impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBackend")
            .field("lines", &self.inner.lines)
            .field("hub", &self.inner.hub)
            .field("tasks", &self.inner.tasks.len())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for RedisBackend {
    fn medium(&self) -> Medium {
        Medium::Bytes
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        steps::read(self.lines(), key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        steps::acquire(self.lines(), request).await
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        steps::publish(self.lines(), request).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        steps::abandon(self.lines(), request).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        steps::renew(self.lines(), key, token, ttl).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.inner.hub.watch(self.lines().keys.channel(key)).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        steps::invalidate(self.lines(), key).await
    }

    fn post(&self, note: Note) {
        // An abandon that finds the queue full is left to the lease's TTL.
        if let Err(TrySendError::Full(note) | TrySendError::Closed(note)) = self.inner.notes.try_send(note)
            && let Note::Invalidate { key } = note
        {
            post::put_off(self.lines(), &key);
        }
    }

    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        Some(Box::new(RedisChanges::begin(&self.inner.hub, &self.lines().keys, prefix)))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.lines().link)
    }
}
