//! What the macros' output names, and nothing else may.

pub use crate::call::{Call, Entered, Fill};
pub use crate::identity::Place;
pub use crate::invalidate::Invalidating;
pub use crate::key::{KeyBuf, part, put_debug};
pub use crate::kind::{
    ErrOf, Of, Plan, Retry, by_path, local, may_fail, plan, portable, shareable, shareable_unless,
};
pub use crate::option::{Millis, Seconds, checked};
pub use crate::owned::{Spawner, own, spawner};
pub use crate::policy::{LockTtl, Losers, Policy};
pub use crate::site::Site;

/// The traits behind method lookup, to be imported by `*`: without names, they hide none of the user's.
pub mod probes {
    pub use crate::key::{PutDisplay as _, PutOption as _};
    pub use crate::kind::{
        KindPlain as _, MakeNot as _, NegativeNever as _, WayFlightError as _, WayNone as _, WordsDebug as _,
        WordsType as _,
    };
}
