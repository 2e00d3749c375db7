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

use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use singleflight_core::SingleFlight;
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
    let mut builder = singleflight_redis::builder_from_env().await?.metrics();
    if settings.near > 0 {
        builder = builder.near(settings.near, Duration::from_secs(5));
    }
    Ok(builder.build())
}
