//! What scenes are played with.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use singleflight_core::observe::Figures;
use singleflight_core::{BackendError, SingleFlight};

use crate::backend::BackendChoice;
use crate::database::Database;
use crate::progress::Progress;
use crate::repository::{UserId, Users};
use crate::row::Row;
use crate::wave::{Answer, Found, Wave};

/// What the command line asked for.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) callers: u32,
    pub(crate) keys: u32,
    pub(crate) load: Duration,
    pub(crate) backend: BackendChoice,
    pub(crate) folder: PathBuf,
    pub(crate) progress: Arc<Progress>,
    pub(crate) files: AtomicUsize,
}

/// A scene could not be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    #[error("SQLite did not do what the scene needs: {0}")]
    Database(#[from] sqlx::Error),
    #[error("the backend did not do what the scene needs: {0}")]
    Backend(#[from] BackendError),
}

/// A database of its own, a repository over it, and an engine.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) database: Database,
    pub(crate) users: Users,
    pub(crate) flights: SingleFlight,
    progress: Arc<Progress>,
}

/// Figures at one moment.
#[derive(Debug)]
pub(crate) struct Mark {
    queries: u64,
    figures: Figures,
}

impl Stage {
    /// A fresh play whose queries take `load`.
    pub(crate) async fn play(&self, flights: SingleFlight, load: Duration) -> Result<Play, StageError> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let file = self.folder.join(format!("users-{number}.sqlite"));
        let database = Database::create(&file, self.keys, load).await?;
        let users = Users::new(database.pool());
        Ok(Play { database, users, flights, progress: self.progress.clone() })
    }

    /// Whom the herd asks for: each caller the next key, in turn.
    pub(crate) fn herd(&self) -> impl Iterator<Item = UserId> + use<> {
        let keys = self.keys;
        (0..self.callers).map(move |caller| UserId(caller % keys + 1))
    }

    /// Each key once.
    pub(crate) fn keys(&self) -> impl Iterator<Item = UserId> + use<> {
        (1..=self.keys).map(UserId)
    }

    /// The callers of the herd that are not the first of their key.
    pub(crate) fn losers(&self) -> usize {
        (self.callers - self.keys) as usize
    }
}

impl Play {
    /// Sends one caller for each of `ids`.
    pub(crate) fn send<F>(&self, ids: impl Iterator<Item = UserId>, call: impl Fn(Users, UserId) -> F) -> Wave
    where
        F: Future<Output = Found> + Send + 'static,
    {
        Wave::send(&self.progress, &self.flights, &self.users, ids, call)
    }

    /// Sends them, and lets no query go on before all have asked.
    pub(crate) async fn burst<F>(
        &self,
        ids: impl Iterator<Item = UserId>,
        call: impl Fn(Users, UserId) -> F,
    ) -> Vec<Answer>
    where
        F: Future<Output = Found> + Send + 'static,
    {
        self.hold();
        let wave = self.send(ids, call);
        wave.asked().await;
        self.database.meter.release();
        wave.answers().await
    }

    /// Waits until nothing is being loaded: a task may still be at it when all callers have their answers.
    pub(crate) async fn landed(&self) {
        while self.flights.in_progress() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Lets no query go on that has not begun.
    pub(crate) fn hold(&self) {
        self.database.meter.hold_after(self.database.meter.queries());
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { queries: self.database.meter.queries(), figures: self.flights.statistics().total }
    }

    /// The row of what happened since `mark`.
    pub(crate) fn row(&self, since: &Mark, row: Row) -> Row {
        let now = self.mark();
        row.counted(now.queries - since.queries, &since.figures, &now.figures)
    }
}
