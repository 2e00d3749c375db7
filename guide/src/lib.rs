//! The guide. Its chapters stand in `chapters`, as a book for mdBook (`mdbook build guide`), and are included here so
//! that each of their examples is compiled by `cargo test --doc`, and run unless it needs a server.

#[doc = include_str!("../chapters/introduction.md")]
pub mod introduction {}

#[doc = include_str!("../chapters/lab.md")]
pub mod lab {}

#[doc = include_str!("../chapters/ttls.md")]
pub mod ttls {}

#[doc = include_str!("../chapters/losers.md")]
pub mod losers {}

#[doc = include_str!("../chapters/freshness.md")]
pub mod freshness {}

#[doc = include_str!("../chapters/errors.md")]
pub mod errors {}

#[doc = include_str!("../chapters/invalidation.md")]
pub mod invalidation {}

#[doc = include_str!("../chapters/redis.md")]
pub mod redis {}

#[doc = include_str!("../chapters/pitfalls.md")]
pub mod pitfalls {}

#[doc = include_str!("../chapters/testing.md")]
pub mod testing {}

#[doc = include_str!("../chapters/backends.md")]
pub mod backends {}

#[doc = include_str!("../chapters/migrating.md")]
pub mod migrating {}
