//! The program as a user runs it.

mod alone;
mod fleet;
mod run;
