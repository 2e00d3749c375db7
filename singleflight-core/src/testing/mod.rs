//! Helpers for tests: an engine for each, a store that fails on demand, and the checks that a backend must pass.
//!
//! | item | for |
//! |---|---|
//! | [`FaultyBackend`] | any backend, counted, and made to fail, to be late, to stand still or to be cut off |
//! | [`BytesBackend`] | running the way over the wire without a server |
//! | [`conformance`] | checking a backend of your own against its contract |
//! | [`Mutant`] | checking that a suite would notice |

mod bytes;
mod calls;
pub mod conformance;
mod faulty;
mod gate;
mod hearing;
mod mutants;
mod rules;

pub use bytes::BytesBackend;
pub use calls::{Calls, Method, Moment};
pub use faulty::FaultyBackend;
pub use gate::Gate;
pub use mutants::{Fault, Mutant};
pub use rules::FaultBuilder;
