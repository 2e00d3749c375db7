//! A show: scenes, played one after the other, and what is told of them.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use tempfile::TempDir;

use crate::args::Args;
use crate::paint::Paint;
use crate::progress::Progress;

/// What was seen.
pub(crate) struct Told {
    text: String,
    as_expected: bool,
}

/// All of it, for machines.
#[derive(Serialize)]
struct Document<'a, R> {
    callers: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
    load_ms: u64,
    backend: &'a str,
    scenes: &'a [R],
}

/// A folder for databases. Removed when dropped, and so also when the program is interrupted.
pub(crate) fn folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("stampede-").tempdir()
}

/// Plays the scenes; `None` if Ctrl-C came first.
pub(crate) async fn play<S: Copy, R, E: Error + 'static>(
    progress: &Arc<Progress>,
    scenes: &[S],
    name: impl Fn(S) -> &'static str,
    mut play: impl AsyncFnMut(S) -> Result<R, E>,
) -> Result<Option<Vec<R>>, Box<dyn Error>> {
    let all = async {
        let _drawing = progress.draw();
        let mut reports = Vec::with_capacity(scenes.len());
        for &scene in scenes {
            progress.begin(name(scene));
            reports.push(play(scene).await?);
            progress.end();
        }
        Ok(reports)
    };
    unless_interrupted(all).await
}

/// `None` if Ctrl-C came first.
pub(crate) async fn unless_interrupted<T>(
    play: impl Future<Output = Result<T, Box<dyn Error>>>,
) -> Result<Option<T>, Box<dyn Error>> {
    tokio::select! {
        // First: the server of a fleet ends by it, too.
        biased;
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            Ok(None)
        }
        played = play => played.map(Some),
    }
}

/// Prints it all.
pub(crate) fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

impl Told {
    /// As a document if that was asked for, else as `table` shows it.
    pub(crate) fn new<R: Serialize>(
        args: &Args,
        backend: &str,
        reports: &[R],
        as_expected: impl Fn(&R) -> bool,
        table: impl FnOnce(Paint) -> String,
    ) -> Result<Self, serde_json::Error> {
        let text = if args.json {
            let Args { callers, keys, processes, load_ms, .. } = *args;
            let keys = processes.is_none().then_some(keys);
            let document = Document { callers, keys, processes, load_ms, backend, scenes: reports };
            serde_json::to_string_pretty(&document)? + "\n"
        } else {
            table(Paint::of_stdout())
        };
        Ok(Self { text, as_expected: reports.iter().all(as_expected) })
    }

    /// Prints it; the exit code says whether all was as expected, the output what was not.
    pub(crate) fn print(&self) -> io::Result<ExitCode> {
        print(&self.text)?;
        Ok(if self.as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
