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

use std::error::Error;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use singleflight_redis::{ConnectError, RedisBackend};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::member::worker::{self, PATIENCE};
use crate::race::Course;

/// The port that is taken where none is asked for, if nobody else has it.
const PORT: u16 = 7878;

/// How long answers that have begun may take once the lab is told to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Shows a cache stampede as it happens, on a page for this machine alone.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The port to listen on; 7878 unless given, or a free one if that is taken.
    #[arg(long)]
    port: Option<u16>,

    /// A Redis or Valkey server, for races between real processes: `redis://…` or `valkey://…`.
    #[arg(long, env = "SINGLEFLIGHT_BACKEND", hide_env_values = true)]
    redis: Option<String>,

    /// Races end after so many seconds.
    #[arg(long, default_value_t = bounds::LONGEST_S, value_parser = clap::value_parser!(u64).range(1..=bounds::LONGEST_S))]
    longest: u64,
}

fn main() -> ExitCode {
    if let Ok(task) = std::env::var(worker::VARIABLE) {
        return worker::run(&task);
    }
    match lab(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn lab(args: Args) -> Result<(), Box<dyn Error>> {
    let redis = match args.redis.filter(|url| !matches!(url.trim_end_matches(':'), "memory" | "noop")) {
        Some(url) => Some(reached(url).await?),
        None => None,
    };
    let listener = listen(args.port).await?;
    println!("the lab is at http://{}", listener.local_addr()?);
    let ending = watch::Sender::new(false);
    let longest = Duration::from_secs(args.longest);
    let course = Course { redis, longest, ending: ending.subscribe() };
    let mut ended = ending.subscribe();
    let served = axum::serve(listener, server::routes(course)).with_graceful_shutdown(async move {
        told_to_stop().await;
        ending.send_replace(true);
    });
    tokio::select! {
        served = served => Ok(served?),
        // Who has begun to ask and does not go on, or does not read, is not waited for.
        () = async { let _ = ended.wait_for(|ended| *ended).await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}

/// Waits until the lab is told to stop: by a terminal, or by whoever runs it.
async fn told_to_stop() {
    let asked = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = asked => {}
    }
}

/// A server that is there: what is wrong with it is told at the start, in the words of the library.
async fn reached(url: String) -> Result<Arc<str>, ConnectError> {
    let backend = RedisBackend::builder(&url).dial_timeout(PATIENCE).response_timeout(PATIENCE);
    drop(backend.connect().await?);
    Ok(url.into())
}

/// On loopback alone: whoever can reach the lab can make this machine work.
async fn listen(port: Option<u16>) -> Result<TcpListener, String> {
    let bind = async |port| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        listener.map_err(|error| format!("cannot listen on 127.0.0.1:{port}: {error}"))
    };
    match port {
        Some(port) => bind(port).await,
        None => match bind(PORT).await {
            Err(_) => bind(0).await,
            listener => listener,
        },
    }
}
