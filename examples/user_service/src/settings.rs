//! What may be set, by arguments or by the environment.

use clap::Parser;

/// Users over HTTP.
///
/// `SINGLEFLIGHT_BACKEND` (`memory:`, `noop:`, `redis://…`) and `SINGLEFLIGHT_NAMESPACE` choose where values and leases
/// live.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Settings {
    /// The address to serve; port 0 takes a free one.
    #[arg(long, env, default_value = "127.0.0.1:3000")]
    pub(crate) listen: String,

    /// `sqlite://…` or `postgres://…`.
    #[arg(long, env, default_value = "sqlite://users.db?mode=rwc", hide_env_values = true)]
    pub(crate) database_url: String,

    /// Copies of values that the process keeps in front of a server; 0 for none.
    #[arg(long, env, default_value_t = 0)]
    pub(crate) near: u64,

    /// Makes each query of a read take this many milliseconds longer, to see what a busy database would do.
    #[arg(long, env, default_value_t = 0)]
    pub(crate) query_delay_ms: u64,

    /// How many seconds requests have to end in, once the service is told to stop.
    #[arg(long, env, default_value_t = 10)]
    pub(crate) shutdown_s: u64,
}
