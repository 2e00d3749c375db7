//! Keys: what a template like `"user:<id>"` becomes for one call.
//!
//! Rendering is one-to-one: two different tuples of values never give one key. In a value, `%`, control characters,
//! braces and the first character of the template's text that follows are written as `%XX` (the bytes of their UTF-8
//! form); everything else stays readable. Nothing else in a rendered key contains a `%`, except for
//!
//! - `%n`, an Option's `None`; `Some(x)` is written as `x`, or as `%sx` if `x` itself begins with `%n` or `%s`,
//! - `%h`, which separates the beginning of a key that would be longer than [`MAX_KEY`] from its hash.
//!
//! Slices of bytes are written as if they were text, except that every byte beyond ASCII becomes `%XX`.

mod buffer;
mod part;

pub use buffer::{Key, KeyBuf, MAX_KEY};
pub use part::{
    DebugPart, DisplayPart, ExactPart, KeyPart, Part, PartOf, PutDisplay, PutOption, part, put_debug,
};
