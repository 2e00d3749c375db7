//! The testing kit, as a user's tests would use it.
#![cfg(feature = "test-util")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod counting;
mod faults;
mod fleet;
mod repository;
mod templates;
mod time;
