//! Users over HTTP, from SQLite or PostgreSQL, with one line on each read so that no herd reaches the database.
//!
//! `SINGLEFLIGHT_BACKEND` says where values and leases live: in each process by itself (`memory:`, the default), on a
//! server for a fleet (`redis://…`, with `SINGLEFLIGHT_NAMESPACE`), or nowhere (`noop:`).

mod api;
mod database;
mod health;
mod settings;
mod stop;
mod telemetry;
mod users;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use singleflight_core::{BACKEND_VARIABLE, SingleFlight, SingleFlightBuilder};
use singleflight_redis::{NAMESPACE_VARIABLE, RedisBackend};
use tokio::net::TcpListener;

use crate::api::Service;
use crate::settings::Settings;
use crate::users::Users;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::parse();
    telemetry::log();
    let figures = telemetry::figures()?;
    flights(&settings).await?.install()?;
    let pool = database::open(&settings.database_url).await?;
    let users = Users::new(pool.clone(), Duration::from_millis(settings.query_delay_ms));

    let listener = TcpListener::bind(&settings.listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {}", settings.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    let served = api::serve(listener, Service { users, figures });
    stop::within(Duration::from_secs(settings.shutdown_s), served).await?;
    pool.close().await;
    Ok(())
}

/// The engine that the environment asks for, with figures, and copies in front of it if the settings say so.
async fn flights(settings: &Settings) -> anyhow::Result<SingleFlight> {
    let url = std::env::var(BACKEND_VARIABLE).unwrap_or_default();
    let builder = match settings.backend_patience_ms.map(Duration::from_millis) {
        Some(patience) if url.contains("://") => on_server(url.trim(), patience).await?,
        _ => singleflight_redis::builder_from_env().await?,
    };
    let mut builder = builder.metrics();
    if settings.near > 0 {
        builder = builder.near(settings.near, Duration::from_secs(5));
    }
    Ok(builder.build())
}

/// The same where the environment names a server, and its answers are waited for longer or shorter than usual.
async fn on_server(url: &str, patience: Duration) -> anyhow::Result<SingleFlightBuilder> {
    let namespace = std::env::var(NAMESPACE_VARIABLE).ok().filter(|namespace| !namespace.is_empty());
    let namespace = namespace.with_context(|| format!("set {NAMESPACE_VARIABLE} to the service's name"))?;
    let backend = RedisBackend::builder(url).dial_timeout(patience).response_timeout(patience);
    let backend = backend.connect().await?;
    Ok(SingleFlight::builder().backend(Arc::new(backend)).namespace(&namespace))
}
