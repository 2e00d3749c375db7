//! The testing kit, as a user's tests would use it.
#![cfg(feature = "test-util")]

mod faults;
