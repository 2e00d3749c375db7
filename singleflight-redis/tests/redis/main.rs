//! The backend on real servers, which the tests start and end.

mod conformance;
mod faults;
mod fleet;
mod rig;
mod server;
mod start;
mod waiters;
