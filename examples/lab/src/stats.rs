//! The engine's own statistics, as they are sent.

use serde::{Deserialize, Serialize};
use singleflight_core::observe::Figures;

macro_rules! stats {
    ($($field:ident)*) => {
        /// The figures of all functions of one engine, or of several. Their names are the library's.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub(crate) struct Stats {
            $(pub(crate) $field: u64,)*
        }

        impl Stats {
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl From<&Figures> for Stats {
            fn from(figures: &Figures) -> Self {
                Self { $($field: figures.$field,)* }
            }
        }
    };
}

stats! {
    hits stale fills errors panics follows waits timeouts acquires_granted acquires_held acquires_failed takeovers
    fenced duplicate_loads failures_shared cooldown_answers refusals defaults degraded renewals
}
