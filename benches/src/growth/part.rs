//! All of it, one after the other.

use serde::{Deserialize, Serialize};

use super::keys::{self, Crowded};
use super::values::{self, Heavy};
use super::waiters::{self, Waited};
use crate::machine;
use crate::report::publish;

/// What was measured.
#[derive(Debug, Serialize, Deserialize)]
pub struct Growth {
    /// With the keys that a store holds.
    pub keys: Crowded,
    /// With the callers that wait.
    pub waiters: Vec<Waited>,
    /// With the size of a value.
    pub values: Vec<Heavy>,
}

/// Runs it.
///
/// # Errors
///
/// Those of writing, and of processes that it starts.
pub fn run() -> std::io::Result<()> {
    let before = machine::load();
    let growth = Growth { keys: keys::measure()?, waiters: waiters::measure(), values: values::measure() };
    let mut tables = keys::tables(&growth.keys);
    tables.push(waiters::table(&growth.waiters));
    tables.push(values::table(&growth.values));
    publish("growth", &machine::about(&before), &tables, &growth)
}
