//! The attribute on every shape of function that users bring. What is asserted holds whatever the engine does: the
//! values are right, the futures are `Send` when their bodies are, and it compiles.

#![deny(warnings)]

mod arguments;
mod beside_other_attributes;
mod free_functions;
mod generics;
mod invalidating;
mod keys_by_hand;
mod nested;
mod options;
mod receivers;
mod traits;

use std::fmt::{self, Display};

#[derive(Clone, Debug, PartialEq)]
struct LoadError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id(u64);

impl Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}
