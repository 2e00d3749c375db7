//! What the macros' output names, and nothing else may.

pub use crate::call::{Call, Entered, Fill};
pub use crate::identity::Place;
pub use crate::invalidate::Invalidating;
pub use crate::key::{KeyBuf, Part, PutDisplay, PutOption};
pub use crate::kind::{
    ErrOf, Kind, KindPlain, MakeNot, NegativeNever, Of, Plan, Retry, WayFlightError, WayNone, WordsDebug,
    WordsType, by_path, local, may_fail, plan, portable, shareable, shareable_unless,
};
pub use crate::option::{Millis, Seconds, checked};
pub use crate::policy::{LockTtl, Losers, Policy};
pub use crate::site::Site;
pub use crate::typed::Typed;
