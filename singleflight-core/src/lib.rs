//! One load instead of a stampede: cache fills that are coalesced in a process and leased across processes.
//!
//! ```
//! use singleflight_core::single_flight;
//! # type UserId = u64;
//! # #[derive(Clone, serde::Serialize, serde::Deserialize)] struct User { id: UserId }
//! # #[derive(Clone)] struct RepoError;
//! # struct Repo;
//! # impl Repo {
//! #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
//! async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
//!     /* the expensive part */
//! #   Ok(Some(User { id }))
//! }
//! # }
//! ```
//!
//! - [`single_flight`](macro@single_flight), [`invalidates`](macro@invalidates) and [`key!`](macro@key): the macros,
//!   with all options and refusals.
//! - [`SingleFlight`]: the engine; made by a builder, installed for the process, or put in scope for a test. Without
//!   one, the environment decides: `SINGLEFLIGHT_BACKEND` is `memory:` (the default) or `noop:`.
//! - [`Policy`]: what many functions share, in a `const`.
//! - [`control`]: bypass, refresh and outcome of single calls, without a change of signature.
//! - [`backend`]: what a store must do, and the ones that need no server.
//! - [`observe`]: statistics, and who hears of what happens.
//!
//! A call needs a tokio runtime: leases are renewed and waits end by its timers.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `json` | yes | JSON as a second codec for backends that keep bytes |
//! | `metrics` | no | figures for the recorder of the `metrics` crate |
//! | `quick` | no | `MemoryBuilder::quick`: values in `quick_cache` instead of moka, for quicker hits and loads |
//! | `tracing` | no | spans and events for the `tracing` crate: a span `flight` around each fill, with its function and outcome |
//! | `test-util` | no | the module `testing`: an engine for each test, faults on demand, and the conformance suite for backends |

#[doc(hidden)]
pub mod __private;
mod acquire;
pub mod backend;
mod builder;
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
mod hashing;
mod identity;
mod invalidate;
pub mod key;
mod kind;
mod lease;
pub mod link;
mod lookup;
mod manual;
#[cfg(feature = "metrics")]
pub mod metrics;
mod near;
pub mod observe;
mod option;
mod owned;
mod policy;
mod publish;
mod route;
mod site;
mod spawn;
mod sync;
mod tell;
#[cfg(feature = "test-util")]
pub mod testing;
mod top_keys;
mod trace;
mod typed;
mod wait;

pub use backend::{LeaseBackend, MemoryBackend, NoopBackend};
pub use builder::SingleFlightBuilder;
pub use clock::{Clock, ManualClock};
pub use codec::Codec;
pub use config::{BACKEND_VARIABLE, ConfigError};
pub use error::{BackendError, FlightError, FlightErrorKind, PolicyError};
pub use fill_times::AutoLease;
pub use flights::{InstallError, SingleFlight};
pub use key::{Key, MAX_KEY};
pub use kind::{LocalValue, Value};
pub use manual::Manual;
pub use policy::{LockTtl, Losers, OnTimeout, Policy};
pub use singleflight_macros::{invalidates, key, single_flight};
pub use site::Site;
