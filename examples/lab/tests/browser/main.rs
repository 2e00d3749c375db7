//! The lab's page in a real browser, on the lab's real server.
//!
//! All of it needs Chromium and its driver, which `scripts/test --all` installs. [`pictures`] takes the pictures of the
//! documentation anew, when it is asked for by name.

mod agree;
mod browser;
mod controls;
mod files;
mod lab;
mod looks;
mod pictures;
mod races;
mod reach;
#[path = "../support/started.rs"]
mod started;
mod timeline;
mod verdict;
