//! The command line.

use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::backend::BackendChoice;
use crate::scene::Scene;

/// Sends a herd of callers at a slow query and counts what reaches the database: without protection, with
/// `#[single_flight]`, and when things go wrong.
#[derive(Debug, Parser)]
#[command(name = "stampede")]
pub(crate) struct Args {
    /// Callers that ask at once
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) callers: u32,

    /// Keys they ask for, in turn; at most as many as callers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) keys: u32,

    /// How long a query takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) load_ms: u64,

    /// Where values and leases live: `memory:`, or `noop:` to switch the library off
    #[arg(long, value_name = "URL", default_value = "memory:")]
    backend: String,

    /// Plays this scene only; may be given several times
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) scene: Vec<Scene>,

    /// Prints one JSON document instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    /// What was asked for; on a mistake, says so and ends the program with exit code 2.
    pub(crate) fn read() -> (Self, BackendChoice) {
        let args = Self::parse();
        if args.keys > args.callers {
            refuse(format!(
                "{} callers cannot ask for {} keys: `--keys` may be at most `--callers`",
                args.callers, args.keys
            ));
        }
        match BackendChoice::parse(&args.backend) {
            Ok(backend) => (args, backend),
            Err(message) => refuse(message),
        }
    }

    /// The scenes to be played.
    pub(crate) fn scenes(&self) -> Vec<Scene> {
        if self.scene.is_empty() { Scene::ALL.to_vec() } else { self.scene.clone() }
    }

    /// How long a query takes.
    pub(crate) fn load(&self) -> Duration {
        Duration::from_millis(self.load_ms)
    }
}

fn refuse(message: String) -> ! {
    Args::command().error(ErrorKind::ValueValidation, message).exit()
}
