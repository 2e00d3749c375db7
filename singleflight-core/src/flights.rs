//! The engine's handle: [`SingleFlight`].

use std::sync::Arc;

use crate::backend::{LeaseBackend, MemoryBackend};

/// An engine: a backend, the flights in progress on it, and their statistics. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SingleFlight {
    backend: Arc<dyn LeaseBackend>,
}

impl SingleFlight {
    /// An engine on a memory backend of its own.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::on(Arc::new(MemoryBackend::new()))
    }

    /// An engine on this backend.
    #[must_use]
    pub fn on(backend: Arc<dyn LeaseBackend>) -> Self {
        Self { backend }
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn LeaseBackend> {
        &self.backend
    }
}
