//! The testing kit, as a user's tests would use it.
#![cfg(feature = "test-util")]

mod counting;
mod faults;
mod fleet;
mod repository;
mod time;
