//! The scenes of a fleet, one file for each kind of thing that happens.

pub(crate) mod herd;
pub(crate) mod leader;
