//! What the attribute's output names, and nothing else may.

pub use crate::call::{Call, Entered, Fill};
pub use crate::identity::Place;
pub use crate::site::Site;
pub use crate::typed::Typed;
