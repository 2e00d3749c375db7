//! What is stored when a race begins.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Invalidated, Medium, Note, Publish, Published, Released, Renewed, Token,
    Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::{BackendError, LeaseBackend};

use crate::items::{Items, Reads, Row};
use crate::member::life::engine;
use crate::member::{MemberError, Spec};
use crate::setting::EntryAtStart;
use crate::tell::Silence;
use crate::watched::{Watched, Way};

/// Stores an entry for each key, as an earlier call would have left it: by such a call, on an engine of its own.
pub(crate) async fn seed(spec: &Spec, store: &Arc<dyn LeaseBackend>) -> Result<(), MemberError> {
    let Some((soft, hard)) = spec.setting.left_at_start() else { return Ok(()) };
    let took = Duration::from_millis(u64::from(spec.setting.load_ms));
    let planting: Arc<dyn LeaseBackend> = Arc::new(Planting { inner: store.clone(), soft, hard, took });
    let flights = engine(spec, planting.clone())?;
    let at =
        if spec.setting.entry == EntryAtStart::Stale { -f64::from(spec.setting.soft_ttl_ms) } else { 0.0 };
    let row = Row { version: 1, process: spec.process, at, degraded: false };
    let (silence, way) = (Arc::new(Silence), Arc::new(Way::default()));
    let store = Arc::new(Watched::new(planting, spec.process, silence, way));
    let items = Items { source: Arc::new(Given(row)), process: spec.process, store };
    for key in 0..spec.setting.keys {
        let call = async {
            // Each function has values of its own.
            if spec.setting.spawn { items.find_spawned(key, 0).await } else { items.find(key, 0).await }
        };
        flights.scope(call).await.map_err(MemberError::new)?;
    }
    Ok(())
}

/// A row that costs nothing.
struct Given(Row);

#[async_trait]
impl Reads for Given {
    async fn read(&self, _process: u32, _key: u32, _call: u32) -> Result<Row, Arc<str>> {
        Ok(self.0)
    }
}

/// Stores values with the lifetimes and the fill time that they are to have at the start.
#[derive(Debug)]
struct Planting {
    inner: Arc<dyn LeaseBackend>,
    soft: Duration,
    hard: Duration,
    took: Duration,
}

#[async_trait]
impl LeaseBackend for Planting {
    fn medium(&self) -> Medium {
        self.inner.medium()
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        self.inner.read(key).await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        self.inner.acquire(request).await
    }

    async fn publish(&self, mut request: Publish<'_>) -> Result<Published, BackendError> {
        (request.soft_ttl, request.hard_ttl) = (self.soft, self.hard);
        request.stamp.fill_time = self.took;
        self.inner.publish(request).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.inner.abandon(request).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        self.inner.renew(key, token, ttl).await
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.inner.watch(key).await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        self.inner.invalidate(key).await
    }

    fn post(&self, note: Note) {
        self.inner.post(note);
    }
}
