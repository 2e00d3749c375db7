//! Helpers for tests: an engine for each, a store that fails on demand, and the checks that a backend must pass.
//!
//! | item | for |
//! |---|---|
//! | [`Kit`] | testing what carries the attribute: an engine per test, its time, its counts, several processes |
//! | [`FaultyBackend`] | any backend, counted, and made to fail, to be late, to stand still or to be cut off |
//! | [`BytesBackend`] | running the way over the wire without a server |
//! | [`conformance`] | checking a backend of your own against its contract |
//! | [`Mutant`] | checking that a suite would notice |

mod bytes;
mod calls;
pub mod conformance;
mod counted;
mod faulty;
mod gate;
mod hearing;
mod kit;
mod mutants;
mod rules;

pub use bytes::BytesBackend;
pub use calls::{Calls, Method, Moment};
pub use counted::Counted;
pub use faulty::FaultyBackend;
pub use gate::Gate;
pub use kit::{Kit, KitBuilder};
pub use mutants::{Fault, Mutant};
pub use rules::FaultBuilder;
