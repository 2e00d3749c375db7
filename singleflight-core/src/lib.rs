//! One load instead of a stampede.

#[doc(hidden)]
pub mod __private;
pub mod backend;
mod call;
mod clock;
mod codec;
pub mod entry;
pub mod error;
mod flights;
mod identity;
mod invalidate;
pub mod key;
mod kind;
pub mod link;
mod option;
mod policy;
mod site;
#[cfg(feature = "test-util")]
pub mod testing;
mod typed;

pub use backend::{LeaseBackend, MemoryBackend, NoopBackend};
pub use clock::{Clock, ManualClock};
pub use codec::Codec;
pub use error::{BackendError, FlightError, FlightErrorKind, PolicyError};
pub use flights::SingleFlight;
pub use key::{Key, MAX_KEY};
pub use kind::{LocalValue, Value};
pub use policy::{LockTtl, Losers, OnTimeout, Policy};
pub use singleflight_macros::{invalidates, key, single_flight};
