//! `cargo run --bin stampede`: what a herd of callers does to a database, with and without `#[single_flight]`.
//!
//! [`repository`] is what a service would write; [`scenes`] is what happens to it; [`mod@fleet`] is the same with several
//! processes; [`figures`] is what the library costs; the rest counts and shows.

mod args;
mod backend;
mod database;
mod figures;
mod fleet;
mod meter;
mod paint;
mod progress;
mod repository;
mod row;
mod scene;
mod scenes;
mod show;
mod stage;
mod table;
mod wave;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use singleflight_redis::{ConnectError, ConnectErrorKind};

use crate::args::{Args, Plan};
use crate::backend::BackendChoice;
use crate::fleet::scene::FleetScene;
use crate::fleet::{FleetError, Sharing, worker};
use crate::progress::Progress;
use crate::scene::{Scene, counted};
use crate::show::Told;
use crate::stage::Stage;

fn main() -> ExitCode {
    match std::env::var(worker::VARIABLE) {
        Ok(task) => worker::run(&task),
        Err(_) => stampede(),
    }
}

#[tokio::main]
async fn stampede() -> ExitCode {
    let (args, plan) = Args::read();
    let ended = match plan {
        Plan::Alone { backend, scenes } => alone(&args, backend, &scenes).await,
        Plan::Fleet { processes, backend, scenes } => match backend.open().await {
            Ok((sharing, _server)) => fleet(&args, processes, (backend.shown(), sharing), &scenes).await,
            Err(FleetError::Connect(error)) if is_mistake(&error) => args::refuse(error),
            Err(error) => Err(error.into()),
        },
        Plan::Figures => measure().await,
    };
    ended.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::FAILURE
    })
}

/// Whether the command line is at fault, rather than the server.
fn is_mistake(error: &ConnectError) -> bool {
    matches!(error.kind(), ConnectErrorKind::Misconfigured | ConnectErrorKind::Unsupported)
}

/// Plays in this process.
async fn alone(args: &Args, backend: BackendChoice, scenes: &[Scene]) -> Result<ExitCode, Box<dyn Error>> {
    let folder = show::folder()?;
    let progress = Arc::new(Progress::new(scenes.len()));
    let stage = Stage {
        callers: args.callers,
        keys: args.keys,
        load: args.load(),
        backend,
        folder: folder.path().to_owned(),
        progress: progress.clone(),
        files: AtomicUsize::new(0),
    };
    let played = show::play(&progress, scenes, Scene::name, async |scene| scene.play(&stage).await).await?;
    let Some(reports) = played else { return Ok(interrupted()) };
    folder.close()?;
    let head = format!(
        "{}, {}, a query takes {} ms, backend {}",
        counted(args.callers, "caller", "callers"),
        counted(args.keys, "key", "keys"),
        args.load_ms,
        backend.url(),
    );
    let table = |paint| table::table(&head, &reports, paint);
    Ok(Told::new(args, backend.url(), &reports, |report| report.as_expected, table)?.print()?)
}

/// Plays with several processes.
async fn fleet(
    args: &Args,
    processes: u32,
    (backend, sharing): (&str, Sharing),
    scenes: &[FleetScene],
) -> Result<ExitCode, Box<dyn Error>> {
    let folder = show::folder()?;
    let progress = Arc::new(Progress::new(scenes.len()));
    let mut stage = fleet::Stage {
        processes: processes as usize,
        callers: args.callers,
        load: args.load(),
        sharing,
        folder: folder.path().to_owned(),
        plays: 0,
    };
    let play = async |scene: FleetScene| scene.play(&mut stage).await;
    let played = show::play(&progress, scenes, FleetScene::name, play).await?;
    let Some(reports) = played else { return Ok(interrupted()) };
    folder.close()?;
    let head = format!(
        "{} in {processes} processes, 1 key, a query takes {} ms, backend {backend}",
        counted(args.callers, "caller", "callers"),
        args.load_ms,
    );
    let table = |paint| fleet::table(&head, &reports, paint);
    Ok(Told::new(args, backend, &reports, |report| report.as_expected, table)?.print()?)
}

/// Measures.
async fn measure() -> Result<ExitCode, Box<dyn Error>> {
    match show::unless_interrupted(async { Ok(figures::figures().await?) }).await? {
        Some(text) => Ok(show::print(&text).map(|()| ExitCode::SUCCESS)?),
        None => Ok(interrupted()),
    }
}

/// As shells tell of a program that Ctrl-C ended.
fn interrupted() -> ExitCode {
    ExitCode::from(130)
}
