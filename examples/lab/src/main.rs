//! `cargo run --bin lab`: a page on which a cache stampede is seen as it happens.
//!
//! [`items`] is what a service would write; [`member`] is a process that calls it; [`source`] is what is to be spared;
//! [`watched`] tells what becomes of leases and entries; [`race`] puts two sides on the same arrivals; the rest asks
//! and shows.

mod bounds;
mod cast;
mod clock;
mod director;
mod items;
mod ledger;
mod member;
mod order;
mod outlet;
mod page;
mod plan;
mod presets;
mod race;
mod seed;
mod server;
mod setting;
mod side;
mod source;
mod stats;
mod store;
mod taught;
mod tell;
mod watched;
mod wire;

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::member::worker;
use crate::race::Course;

/// The port that is taken where none is asked for, if nobody else has it.
const PORT: u16 = 7878;

/// Shows a cache stampede as it happens, on a page for this machine alone.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The port to listen on; 7878 unless given, or a free one if that is taken.
    #[arg(long)]
    port: Option<u16>,

    /// A Redis or Valkey server, for races between real processes.
    #[arg(long, env = "SINGLEFLIGHT_BACKEND", hide_env_values = true)]
    redis: Option<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    match std::env::var(worker::VARIABLE) {
        Ok(task) => Ok(worker::run(&task)),
        Err(_) => lab(Args::parse()).map(|()| ExitCode::SUCCESS),
    }
}

#[tokio::main]
async fn lab(args: Args) -> anyhow::Result<()> {
    let listener = listen(args.port).await?;
    println!("the lab is at http://{}", listener.local_addr()?);
    let ending = watch::Sender::new(false);
    let course = Course { redis: args.redis.map(Arc::from), ending: ending.subscribe() };
    let served = axum::serve(listener, server::routes(course)).with_graceful_shutdown(async move {
        let _ = tokio::signal::ctrl_c().await;
        ending.send_replace(true);
    });
    Ok(served.await?)
}

/// On loopback alone: whoever can reach the lab can make this machine work.
async fn listen(port: Option<u16>) -> anyhow::Result<TcpListener> {
    if let Some(port) = port {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        return listener.with_context(|| format!("cannot listen on 127.0.0.1:{port}"));
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).await {
        Ok(listener) => Ok(listener),
        Err(_) => {
            Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on 127.0.0.1")?)
        }
    }
}
