//! Where values and leases live: the contract and the backends that need no server.

mod contract;
mod memory;
mod noop;
mod token;

pub use contract::{
    Abandon, Acquire, Acquired, Change, Changes, Invalidated, LeaseBackend, Medium, News, Note, Publish,
    Published, Released, Renewed, SharedValue, Watch,
};
pub(crate) use memory::Hold;
#[cfg(any(test, feature = "test-util"))]
pub use memory::Residue;
pub use memory::{MemoryBackend, MemoryBuilder};
pub use noop::NoopBackend;
pub use token::Token;
