//! `cargo run --bin stampede`: what a herd of callers does to a database, with and without `#[single_flight]`.
//!
//! [`repository`] is what a service would write; [`scenes`] is what happens to it; the rest counts and shows.

mod args;
mod backend;
mod database;
mod meter;
mod paint;
mod progress;
mod repository;
mod row;
mod scene;
mod scenes;
mod stage;
mod table;
mod wave;

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde::Serialize;

use crate::args::Args;
use crate::backend::BackendChoice;
use crate::paint::Paint;
use crate::progress::Progress;
use crate::scene::Report;
use crate::stage::Stage;

/// All of it, for machines.
#[derive(Debug, Serialize)]
struct Document<'a> {
    callers: u32,
    keys: u32,
    load_ms: u64,
    backend: &'static str,
    scenes: &'a [Report],
}

#[tokio::main]
async fn main() -> ExitCode {
    let (args, backend) = Args::read();
    match run(&args, backend).await {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Plays and tells.
async fn run(args: &Args, backend: BackendChoice) -> Result<ExitCode, Box<dyn Error>> {
    // Removed when dropped, and so also when the program is interrupted.
    let folder = tempfile::Builder::new().prefix("stampede-").tempdir()?;
    let scenes = args.scenes();
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
    let play = async {
        let _drawing = progress.draw();
        let mut reports = Vec::with_capacity(scenes.len());
        for scene in scenes {
            progress.begin(scene.name());
            reports.push(scene.play(&stage).await?);
            progress.end();
        }
        Ok::<_, Box<dyn Error>>(reports)
    };
    let reports = tokio::select! {
        reports = play => reports?,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            // As shells tell of a program that Ctrl-C ended.
            return Ok(ExitCode::from(130));
        }
    };
    folder.close()?;
    print(&tell(args, backend, &reports)?)?;
    // Something may have been other than expected; the output says what.
    let right = reports.iter().all(|report| report.as_expected);
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What goes to standard output.
fn tell(args: &Args, backend: BackendChoice, reports: &[Report]) -> Result<String, serde_json::Error> {
    let Args { callers, keys, load_ms, .. } = *args;
    let backend = backend.url();
    if args.json {
        let document = Document { callers, keys, load_ms, backend, scenes: reports };
        return serde_json::to_string_pretty(&document).map(|document| document + "\n");
    }
    let plural = |count: u32| if count == 1 { "" } else { "s" };
    let head = format!(
        "{callers} caller{}, {keys} key{}, a query takes {load_ms} ms, backend {backend}",
        plural(callers),
        plural(keys),
    );
    Ok(table::table(&head, reports, Paint::of_stdout()))
}

fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
