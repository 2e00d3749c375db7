//! Helpers for tests: an engine for each, a store that fails on demand, and the checks that a backend must pass.
//!
//! | item | for |
//! |---|---|
//! | [`Kit`] | testing what carries the attribute: an engine per test, its time, its counts, several processes |
//! | [`FaultyBackend`] | any backend, counted, and made to fail, to be late, to stand still or to be cut off |
//! | [`assert_invalidates_match`] | checking that what is invalidated is read: a misspelt template compiles |
//! | [`conformance`] | checking a backend of your own against its contract |
//! | [`BytesBackend`] | running the way over the wire without a server |
//! | [`Mutant`] | checking that a suite would notice |
//!
//! They come with the feature `test-util`, for the tests alone:
//!
//! ```toml
//! [dev-dependencies]
//! singleflight-core = { version = "0.1", features = ["test-util"] }
//! ```
//!
//! A repository is tested as it is, with its attributes. What it asks of the engine in force it asks of the kit's:
//!
//! ```
//! use singleflight_core::testing::Kit;
//! use singleflight_core::{invalidates, single_flight};
//!
//! struct Users;
//!
//! impl Users {
//!     #[single_flight(key = "user:<id>", ttl = 30)]
//!     async fn find(&self, id: u64) -> Option<String> {
//!         Some(format!("user {id}")) // the query
//!     }
//!
//!     #[invalidates(key = "user:<id>")]
//!     async fn rename(&self, id: u64) {}
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // #[tokio::test]
//! let kit = Kit::new();
//! kit.scope(async {
//!     Users.find(1).await;
//!     Users.find(1).await;
//!     Users.rename(1).await;
//!     Users.find(1).await;
//! })
//! .await;
//! kit.assert("find").fills(2).hits(1);
//! # }
//! ```
//!
//! One call is told apart from the others by [`control::outcome`](crate::control::outcome), which says how it was
//! answered.

mod bytes;
mod calls;
pub mod conformance;
mod counted;
mod faulty;
mod gate;
mod hearing;
mod kit;
mod kit_builder;
mod mutants;
mod rules;
mod templates;

pub use bytes::BytesBackend;
pub use calls::{Calls, Method, Moment};
pub use counted::Counted;
pub use faulty::FaultyBackend;
pub use gate::Gate;
pub use kit::Kit;
pub use kit_builder::KitBuilder;
pub use mutants::{Fault, Mutant};
pub use rules::FaultBuilder;
pub use templates::{Template, Templates, TemplatesError, Unmatched, assert_invalidates_match};
