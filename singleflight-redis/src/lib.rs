//! Redis and Valkey as the lease backend of `singleflight-core`: one load across a fleet.
//!
//! [`from_env`] makes the engine that the environment asks for; [`RedisBackend::builder`] makes the backend by hand.
//! Redis 6 or newer, or Valkey: one server, the primary that sentinels name, or, with the feature `cluster`, a cluster;
//! with the feature `tls` also by TLS. The records, scripts and messages are described in `PROTOCOL.md`.
//!
//! A user of few rights is enough:
//!
//! ```text
//! ACL SETUSER name on >password ~sf:* resetchannels &sf:* +eval +evalsha +get +getrange +set +pttl +pexpire +rename +del +unlink +publish +subscribe +unsubscribe +ping +role +hello +auth +select
//! ```
//!
//! On every node of a cluster it also needs what its nodes are asked for:
//!
//! ```text
//! ACL SETUSER name +cluster|slots +asking
//! ```
//!
//! There the client also tells its name, which does no harm where it may not; from Redis 7.2 on `+client|setinfo` keeps
//! that out of the log of what was refused.
//!
//! Sentinels have users of their own, who need `+auth +sentinel|get-master-addr-by-name`.
//!
//! For near caches it also needs `+psubscribe +punsubscribe` and the pattern itself, which Redis compares letter by letter:
//! `&sf:{namespace:*}w`. Without them copies live for a moment only.

#[cfg(feature = "cluster")]
mod ailing;
mod backend;
mod builder;
#[cfg(feature = "cluster")]
mod cluster;
mod connection;
mod dial;
mod environment;
mod error;
mod feed;
mod health;
mod keys;
mod link;
mod notify;
mod post;
mod refusal;
mod scheme;
mod scripts;
mod sentinel;
mod steps;
mod target;
#[cfg(feature = "tls")]
mod tls;
mod ttls;
mod watch;

pub use backend::RedisBackend;
pub use builder::RedisBuilder;
pub use environment::{NAMESPACE_VARIABLE, builder_from_env, from_env};
pub use refusal::{ConnectError, ConnectErrorKind};
