//! Each policy and each fault does what its lesson says, and nothing of a race is left behind.

#[path = "support/lab.rs"]
mod lab;
#[path = "support/race.rs"]
mod race;
#[path = "races/mod.rs"]
mod races;
#[path = "support/started.rs"]
mod started;
