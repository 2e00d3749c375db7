//! The backend on real servers, which the tests start and end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to panic")]

mod cases;
#[cfg(feature = "cluster")]
mod cluster;
mod conformance;
mod exits;
mod faults;
mod fleet;
mod load;
mod network;
mod processes;
mod protocol;
mod proxy;
mod recovery;
#[cfg(feature = "cluster")]
mod refusals;
mod rig;
mod same;
mod sentinel;
mod start;
#[cfg(feature = "tls")]
mod tls;
mod ttls;
mod waiters;
