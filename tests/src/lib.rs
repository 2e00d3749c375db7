//! The promises as functions that take a backend, so that every backend is held to the same ones.
//!
//! | module | holds |
//! |---|---|
//! | [`harness`] | what a backend under test must offer, and the in-process ones |
//! | [`way`] | what goes on between the processes of a test and their backends |
//! | [`server`] | Redis and Valkey servers that tests start and end |
//! | [`cluster`], [`sentinel`], [`tls`] | the same in greater numbers, or by TLS |
//! | [`source`] | what is loaded: it counts, and stands still when told to |
//! | [`suite`] | the promises; [`promises!`] makes a test of each |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

pub mod cluster;
pub mod harness;
pub mod sentinel;
pub mod server;
pub mod source;
pub mod suite;
pub mod tls;
pub mod way;
