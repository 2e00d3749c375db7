//! Redis and Valkey as the lease backend of `singleflight-core`: one load across a fleet.
//!
//! [`from_env`] makes the engine that the environment asks for; [`RedisBackend::builder`] makes the backend by hand.
//! Redis 6 or newer, or Valkey, on one server. The records, scripts and messages are described in `PROTOCOL.md`.
//!
//! A user of few rights is enough:
//!
//! ```text
//! ACL SETUSER name on >password ~sf:* resetchannels &sf:* +eval +evalsha +get +getrange +set +pttl +pexpire +rename +del +unlink +publish +subscribe +unsubscribe +ping +role +hello +auth +select
//! ```
//!
//! For near caches it also needs `+psubscribe +punsubscribe` and the pattern itself, which Redis compares letter by letter:
//! `&sf:{namespace:*}w`. Without them copies live for a moment only.
//!
//! | file | holds |
//! |---|---|
//! | `backend` | the contract's face |
//! | `builder`, `target`, `environment` | start-up: settings, URLs, variables |
//! | `steps` | the contract's steps as commands, and answers back |
//! | `scripts`, `lua/` | what has to be one step on the server |
//! | `keys` | the names of a key's records |
//! | `link`, `dial` | data connections, kept by a task each |
//! | `notify`, `watch` | waiters: subscriptions on a connection of their own |
//! | `feed` | near caches: what changes, on that same connection |
//! | `post` | steps that nobody waits for |
//! | `error` | what an error means |

mod backend;
mod builder;
mod dial;
mod environment;
mod error;
mod feed;
mod keys;
mod link;
mod notify;
mod post;
mod scripts;
mod steps;
mod target;
mod watch;

pub use backend::RedisBackend;
pub use builder::RedisBuilder;
pub use environment::{NAMESPACE_VARIABLE, from_env};
pub use error::{ConnectError, ConnectErrorKind};
