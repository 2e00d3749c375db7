//! Several real processes on one server: the test's own binary, started again as workers.
//!
//! | module | holds |
//! |---|---|
//! | `origin` | what all processes load from: the test answers each load by hand |
//! | `worker` | a process that does what its standard input says |
//! | `fleet` | the test's side of it |
//! | `leaders` | leaders that die, stop, go away or panic |
//! | `values` | what callers in other processes see |
//! | `near` | the same with near copies in each process |
//! | `outages` | servers that go away, clocks that differ |

mod fleet;
mod leaders;
mod near;
mod origin;
mod outages;
mod values;
mod worker;
