//! The peers, a file each.

mod amalgam;
mod cached;
mod foyer;
mod hitbox;
mod moka;
mod ours;
mod quick;

pub use self::amalgam::{Amalgam, AmalgamBounded};
pub use self::cached::{Cached, CachedByKey};
pub use self::foyer::Foyer;
pub use self::hitbox::Hitbox;
pub use self::moka::{MokaGetWith, MokaTryGetWith};
pub use self::ours::{Ours, OursByHand, OursQuick, OursSpawned};
pub use self::quick::Quick;

use crate::peer::Candidate;

/// How many values a cache has room for.
pub const CAPACITY: u32 = 10_000;

/// Those that are put through the scenes.
pub fn candidates() -> Vec<Candidate> {
    vec![
        Candidate::of::<Ours>(),
        Candidate::of::<OursSpawned>(),
        Candidate::of::<MokaTryGetWith>(),
        Candidate::of::<Quick>(),
        Candidate::of::<Cached>(),
        Candidate::of::<CachedByKey>(),
        Candidate::of::<Foyer>(),
        Candidate::of::<Hitbox>(),
        Candidate::of::<Amalgam>(),
    ]
}
