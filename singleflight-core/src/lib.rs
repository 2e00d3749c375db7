//! One load instead of a stampede.

#[doc(hidden)]
pub mod __private;
mod acquire;
pub mod backend;
mod call;
mod clock;
mod codec;
mod config;
pub mod control;
mod cooling;
mod engine;
pub mod entry;
pub mod error;
mod fill;
mod fill_times;
mod flight;
mod flights;
mod identity;
mod invalidate;
pub mod key;
mod kind;
mod lease;
pub mod link;
mod lookup;
mod manual;
pub mod observe;
mod option;
mod policy;
mod publish;
mod site;
mod spawn;
mod sync;
#[cfg(feature = "test-util")]
pub mod testing;
mod typed;
mod wait;

pub use backend::{LeaseBackend, MemoryBackend, NoopBackend};
pub use clock::{Clock, ManualClock};
pub use codec::Codec;
pub use config::{BACKEND_VARIABLE, ConfigError};
pub use error::{BackendError, FlightError, FlightErrorKind, PolicyError};
pub use fill_times::AutoLease;
pub use flights::{InstallError, SingleFlight, SingleFlightBuilder};
pub use key::{Key, MAX_KEY};
pub use kind::{LocalValue, Value};
pub use manual::Manual;
pub use policy::{LockTtl, Losers, OnTimeout, Policy};
pub use singleflight_macros::{invalidates, key, single_flight};
pub use site::Site;
