//! The backend on real servers, which the tests start and end.

mod conformance;
mod server;
