//! The backend on real servers, which the tests start and end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to panic")]

mod cases;
mod conformance;
mod exits;
mod faults;
mod fleet;
mod network;
mod processes;
mod protocol;
mod proxy;
mod recovery;
mod rig;
mod same;
mod start;
mod waiters;
