//! Which store a call goes to: the backend, or this process's own while the backend is away.

use std::sync::Arc;

use crate::backend::{LeaseBackend, Medium, MemoryBackend, Note};
use crate::engine::{Course, Engine, Request};
use crate::error::BackendError;
use crate::link::{Admission, Link, Probe};
use crate::near::{Near, Ticket};

/// Which store a call goes to.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) store: Arc<dyn LeaseBackend>,
    pub(crate) key: Arc<str>,
    pub(crate) wire: bool,
    /// Values are kept for a moment only: the backend is away, or holds a newer version.
    pub(crate) brief: bool,
}

impl Engine {
    pub(crate) fn link(&self) -> &Link {
        self.backend.link().unwrap_or(&self.own_link)
    }

    /// This process's own store.
    pub(crate) fn local(&self) -> &Arc<MemoryBackend> {
        self.local.get_or_init(|| Arc::new(self.memory.clone().build()))
    }

    /// The way to this process's own store. What is kept there for a moment is kept under the number of the outage: it
    /// is gone when the link is back, and does not return with the next outage.
    pub(crate) fn here(&self, key: &Arc<str>, brief: bool) -> Route {
        let key = if brief { format!("{key}\0{}", self.link().outages()).into() } else { key.clone() };
        Route { store: self.local().clone(), key, wire: false, brief }
    }

    /// Takes `key` out of this process: its flights, and what is kept of it here.
    pub(crate) fn forget(&self, key: &Arc<str>) {
        self.table.detach(key);
        if let Some(near) = &self.near {
            near.forget(key);
        }
        // A store that is made only now has no lease: a load that it will be asked for begins after this.
        let Some(local) = self.local.get() else { return };
        for brief in [false, true] {
            local.post(Note::Invalidate { key: self.here(key, brief).key });
        }
    }

    /// The near cache, with a ticket for what the backend is about to be asked.
    pub(crate) fn near_ticket(&self, key: &str) -> Option<(&Arc<Near>, Ticket)> {
        let near = self.near.as_ref()?;
        near.listen(&self.backend, &self.namespace);
        Some((near, near.ticket(key)))
    }

    /// Tells the link what became of a step.
    pub(crate) fn note<T>(&self, store: &Arc<dyn LeaseBackend>, step: &Result<T, BackendError>) {
        if Arc::ptr_eq(store, &self.backend) {
            self.link().note(step, &self.clock);
        }
    }

    /// The key as the backend knows it.
    pub(crate) fn wire_key(&self, key: &Arc<str>) -> Arc<str> {
        if self.namespace.is_empty() || self.backend.medium() != Medium::Bytes {
            return key.clone();
        }
        // On every hit of a server: without the formatting machinery.
        [&*self.namespace, ":", key].concat().into()
    }
}

impl Request {
    /// Which store is to be asked now.
    pub(crate) async fn route(&self, course: &Course) -> Route {
        let engine = &*self.engine;
        let medium = engine.backend.medium();
        if medium == Medium::Bytes && self.value.wire.is_none() {
            return engine.here(&self.id.key, false);
        }
        if course.newer {
            return engine.here(&self.id.key, true);
        }
        match engine.link().admit(&engine.clock) {
            Admission::Open => {}
            Admission::Shut => return engine.here(&self.id.key, true),
            Admission::Probe(probe) => {
                if !self.probe(&probe).await {
                    return engine.here(&self.id.key, true);
                }
            }
        }
        let (store, key) = (engine.backend.clone(), engine.wire_key(&self.id.key));
        Route { store, key, wire: medium == Medium::Bytes, brief: false }
    }

    /// Tries a link that is down, and sends what was to be sent before anyone may rely on it again.
    async fn probe(&self, probe: &Probe<'_>) -> bool {
        let engine = &*self.engine;
        let link = engine.link();
        if engine.backend.read(&engine.wire_key(&self.id.key)).await.is_err() {
            return false;
        }
        while !probe.succeeded() {
            for key in link.unsent() {
                if engine.backend.invalidate(&key).await.is_err() {
                    return false;
                }
                link.sent(&key);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::error::FlightError;
    use crate::flights::SingleFlight;
    use crate::policy::Policy;

    #[tokio::test]
    async fn a_store_of_ones_own_is_made_when_it_is_needed() {
        let flights = SingleFlight::in_memory();
        let policy = Policy::new().ttl(Duration::from_secs(30));
        let load = || flights.flight("k").policy(policy).run(async || Ok::<u8, FlightError>(7));
        assert_eq!(load().await.unwrap(), 7);
        flights.invalidate("k").await.unwrap();
        assert!(flights.engine().local.get().is_none(), "an engine in memory has no use for it");
    }
}
