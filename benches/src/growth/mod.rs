//! How costs grow: with the keys that a store holds, with the callers that wait for one load, with the size of a value.

mod bell;
mod keys;
mod memory;
mod part;
mod store;
mod values;
mod waiters;
mod worker;

pub use self::keys::{Crowded, Filled};
pub use self::part::{Growth, run};
pub use self::values::Heavy;
pub use self::waiters::Waited;
pub use self::worker::worker;
