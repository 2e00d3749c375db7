//! Who hears of what happens off the hit path.

use std::fmt;
use std::sync::Arc;

use crate::observe::{Event, Observer};

/// Everyone who is told.
#[derive(Clone, Default)]
pub(crate) struct Ears {
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// Whether the recorder of the `metrics` crate is.
    #[cfg(feature = "metrics")]
    pub(crate) metrics: bool,
    /// Whether traces name keys.
    #[cfg(feature = "tracing")]
    pub(crate) trace_keys: bool,
}

impl Ears {
    pub(crate) fn tell(&self, site: &'static str, key: &str, event: &Event<'_>) {
        if let Some(observer) = &self.observer {
            observer.event(site, key, event);
        }
        #[cfg(feature = "metrics")]
        if self.metrics {
            crate::metrics::event(site, event);
        }
        #[cfg(feature = "tracing")]
        crate::trace::event(site, self.traced(key), event);
    }

    /// The key, if traces may name it.
    #[cfg(feature = "tracing")]
    pub(crate) fn traced<'a>(&self, key: &'a str) -> Option<&'a str> {
        self.trace_keys.then_some(key)
    }
}

impl fmt::Debug for Ears {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ears").field("observer", &self.observer).finish_non_exhaustive()
    }
}
