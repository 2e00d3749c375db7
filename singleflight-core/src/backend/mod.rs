//! Where values and leases live: the contract and the backends that need no server.

mod contract;
mod memory;
mod news;
mod noop;
mod token;

pub use contract::{
    Abandon, Acquire, Acquired, Invalidated, LeaseBackend, Medium, Note, Publish, Published, Released,
    Renewed, SharedValue,
};
pub(crate) use memory::Hold;
#[cfg(any(test, feature = "test-util"))]
pub use memory::Residue;
pub use memory::{MemoryBackend, MemoryBuilder};
pub use news::{Change, Changes, News, Watch};
pub use noop::NoopBackend;
pub use token::Token;
