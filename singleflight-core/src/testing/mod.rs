//! Helpers for tests: a byte-storing backend with faults, and the conformance suite that every backend must pass.
//!
//! | item | for |
//! |---|---|
//! | [`BytesBackend`] | running the way over the wire without a server; faults, gates and call counts |
//! | [`conformance`] | checking a backend against its contract |
//! | [`Mutant`] | checking that a suite would notice |

mod bytes;
pub mod conformance;
mod faults;
mod mutants;

pub use bytes::BytesBackend;
pub use faults::{Calls, Gate, Method, Moment};
pub use mutants::{Fault, Mutant};
