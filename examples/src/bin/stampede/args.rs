//! The command line.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};

use crate::backend::BackendChoice;
use crate::fleet::backend::FleetBackend;
use crate::fleet::scene::FleetScene;
use crate::scene::Scene;

/// Sends a herd of callers at a slow query and counts what reaches the database: without protection, with
/// `#[single_flight]`, and when things go wrong.
#[derive(Parser)]
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

    /// Spreads the callers over so many processes of this program, all of which ask for one key
    #[arg(long, value_name = "N", conflicts_with = "keys", value_parser = clap::value_parser!(u32).range(2..=32))]
    pub(crate) processes: Option<u32>,

    /// Where values and leases live: `memory:`, or `noop:` to switch the library off; with `--processes` also
    /// `redis://…` or `valkey://…`, or `redis-local:` to start a server for the run
    #[arg(long, value_name = "URL", default_value = "memory:")]
    backend: String,

    /// Plays this scene only; may be given several times. The first two of a fleet have the same names; those that
    /// begin with `leader-` need one on a server
    #[arg(long, value_name = "NAME", value_parser = scene_names())]
    scene: Vec<String>,

    /// Prints one JSON document instead of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Measures what the library costs on Redis instead, on a server started for it; prints Markdown. Build with
    /// `--release`
    #[arg(long, exclusive = true)]
    figures: bool,
}

/// What is to be done.
pub(crate) enum Plan {
    /// Scenes in this process.
    Alone { backend: BackendChoice, scenes: Vec<Scene> },
    /// Scenes of several processes.
    Fleet { processes: u32, backend: FleetBackend, scenes: Vec<FleetScene> },
    /// Measurements.
    Figures,
}

impl Args {
    /// What was asked for; on a mistake, says so and ends the program with exit code 2.
    pub(crate) fn read() -> (Self, Plan) {
        let args = Self::parse();
        match args.plan() {
            Ok(plan) => (args, plan),
            Err(message) => refuse(message),
        }
    }

    fn plan(&self) -> Result<Plan, String> {
        if self.figures {
            return Ok(Plan::Figures);
        }
        let callers = self.callers;
        let Some(processes) = self.processes else {
            let scenes = scenes(&self.scene, &Scene::ALL).map_err(|name| {
                format!("the scene `{name}` is one of a fleet: add `--processes 4 --backend redis-local:`")
            })?;
            if self.keys > callers {
                return Err(format!(
                    "{callers} callers cannot ask for {} keys: `--keys` may be at most `--callers`",
                    self.keys
                ));
            }
            return Ok(Plan::Alone { backend: BackendChoice::parse(&self.backend)?, scenes });
        };
        if processes > callers {
            return Err(format!(
                "{callers} callers cannot be spread over {processes} processes: `--processes` may be at most `--callers`"
            ));
        }
        let backend = FleetBackend::parse(&self.backend)?;
        let mut scenes = scenes(&self.scene, &FleetScene::ALL)
            .map_err(|name| format!("the scene `{name}` is not one of a fleet: leave out `--processes`"))?;
        if !backend.has_server() {
            if let Some(scene) = scenes.iter().find(|scene| scene.needs_server() && !self.scene.is_empty()) {
                let name = scene.name();
                return Err(format!(
                    "the scene `{name}` needs something that the processes share: add `--backend redis-local:`"
                ));
            }
            scenes.retain(|scene| !scene.needs_server());
        }
        Ok(Plan::Fleet { processes, backend, scenes })
    }

    /// How long a query takes.
    pub(crate) fn load(&self) -> Duration {
        Duration::from_millis(self.load_ms)
    }
}

/// The scenes of these names, or all; an error is the name of one that is not among them.
fn scenes<S: ValueEnum>(names: &[String], all: &[S]) -> Result<Vec<S>, String> {
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    names.iter().map(|name| S::from_str(name, false).map_err(|_| name.clone())).collect()
}

fn scene_names() -> PossibleValuesParser {
    let fleets = FleetScene::ALL.iter().filter(|scene| Scene::from_str(scene.name(), false).is_err());
    let alone = Scene::ALL.iter().filter_map(Scene::to_possible_value);
    alone.chain(fleets.filter_map(FleetScene::to_possible_value)).collect::<Vec<_>>().into()
}

/// Says so and ends the program; nothing is to be owned by then that has to be cleaned up.
pub(crate) fn refuse(message: impl std::fmt::Display) -> ! {
    Args::command().error(ErrorKind::ValueValidation, message).exit()
}
