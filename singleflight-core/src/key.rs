//! Keys: rendered on the stack, one-to-one.

/// The longest key that is used as it is, in bytes; longer ones are shortened by a strong hash.
pub const MAX_KEY: usize = 512;
