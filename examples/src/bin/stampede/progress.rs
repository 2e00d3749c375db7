//! A progress bar on standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

/// How far the program has got.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    scenes: usize,
    played: AtomicUsize,
    asked: AtomicUsize,
    answered: AtomicUsize,
    scene: Mutex<&'static str>,
}

impl Progress {
    const WIDTH: usize = 24;

    pub(crate) fn new(scenes: usize) -> Self {
        Self { scenes, ..Self::default() }
    }

    /// A scene begins.
    pub(crate) fn begin(&self, scene: &'static str) {
        *self.scene.lock().unwrap_or_else(PoisonError::into_inner) = scene;
        self.asked.store(0, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
    }

    /// A scene is over.
    pub(crate) fn end(&self) {
        self.played.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// Draws it again and again, if standard error is a terminal.
    pub(crate) fn draw(self: &Arc<Self>) -> Drawing {
        if !io::stderr().is_terminal() {
            return Drawing(None);
        }
        let progress = self.clone();
        Drawing(Some(tokio::spawn(async move {
            loop {
                let line = progress.line();
                // A bar that cannot be drawn is no reason to stop.
                let _ = write!(io::stderr(), "\r\x1b[K{line}");
                tokio::time::sleep(Duration::from_millis(80)).await;
            }
        })))
    }

    fn line(&self) -> String {
        let played = self.played.load(Ordering::Relaxed);
        let done = Self::WIDTH * played / self.scenes.max(1);
        let scene = *self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        let (answered, asked) = (self.answered.load(Ordering::Relaxed), self.asked.load(Ordering::Relaxed));
        let callers =
            if asked > 0 { format!(": {answered} of {asked} callers answered") } else { String::new() };
        format!(
            "{}{} {played}/{} {scene}{callers}",
            "█".repeat(done),
            "░".repeat(Self::WIDTH - done),
            self.scenes,
        )
    }
}

/// A bar being drawn; dropped, it is wiped away.
#[derive(Debug)]
pub(crate) struct Drawing(Option<JoinHandle<()>>);

impl Drop for Drawing {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
