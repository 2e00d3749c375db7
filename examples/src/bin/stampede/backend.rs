//! Which backend the scenes are played on.

use std::sync::Arc;

use singleflight_core::{Clock, MemoryBackend, NoopBackend, SingleFlight};

/// The backends that need nothing installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendChoice {
    Memory,
    Noop,
}

impl BackendChoice {
    /// The backend that a URL names, or a sentence. What comes after the scheme may hold a password: it is never
    /// repeated.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        match url {
            "memory:" | "memory" => Ok(Self::Memory),
            "noop:" | "noop" => Ok(Self::Noop),
            _ => {
                let named =
                    url.split_once(':').map_or_else(String::new, |(scheme, _)| format!(" `{scheme}:`"));
                Err(format!(
                    "one process alone knows no backend{named}: write `memory:` or `noop:`, or add `--processes 4` for \
                     `redis-local:`, `redis://host:6379` or `valkey://host:6379`"
                ))
            }
        }
    }

    /// The URL that names it.
    pub(crate) const fn url(self) -> &'static str {
        match self {
            Self::Memory => "memory:",
            Self::Noop => "noop:",
        }
    }

    /// A new engine, with figures and a store of its own.
    pub(crate) fn engine(self) -> SingleFlight {
        match self {
            Self::Memory => SingleFlight::in_memory(),
            Self::Noop => SingleFlight::on(NoopBackend),
        }
    }

    /// A new engine whose store takes the time from `clock`: values grow old when the scene says so.
    pub(crate) fn engine_at(self, clock: Clock) -> SingleFlight {
        match self {
            Self::Memory => {
                let store = MemoryBackend::builder().clock(clock).build();
                SingleFlight::builder().backend(Arc::new(store)).build()
            }
            Self::Noop => self.engine(),
        }
    }
}
