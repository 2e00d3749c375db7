//! The scenes, one file for each kind of thing that happens.

pub(crate) mod failure;
pub(crate) mod freshness;
pub(crate) mod herd;
pub(crate) mod invalidate;
pub(crate) mod losers;
mod plain_del;
pub(crate) mod spawn;
pub(crate) mod unlock;
