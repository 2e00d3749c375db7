//! The repository, written as a service would write it: plain queries, and one line on each function.

use std::fmt;

use serde::{Deserialize, Serialize};
use singleflight_core::{FlightError, single_flight};
use sqlx::sqlite::SqlitePool;

/// Who is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserId(pub(crate) u32);

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A user's row. It can be serialized, so that the environment may choose a backend that keeps bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) email: String,
    /// How often the row was changed: tells an old copy from a new one.
    pub(crate) revision: i64,
}

impl User {
    /// Who is shown while the real one is being loaded.
    fn guest() -> Self {
        Self { id: 0, name: "guest".to_owned(), email: String::new(), revision: 0 }
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.id == 0
    }
}

/// Why there is no user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RepoError {
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// Lets a failed load be told to all who waited for it, although `sqlx::Error` cannot be cloned.
    #[error(transparent)]
    Flight(#[from] FlightError),
}

/// The users. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    pool: SqlitePool,
}

impl Users {
    pub(crate) fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }

    /// A user, at most thirty seconds old.
    #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
    pub(crate) async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The same under a lease that outlives what else a busy machine does, for scenes that hang on how long it lasts.
    #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 5000)]
    pub(crate) async fn find_at_length(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The same as the first, stale after ten seconds: then one caller refreshes it, and the rest take the stale copy at once.
    #[single_flight(key = "user:<id>", ttl = 30, soft_ttl = 10, lock_ttl_ms = 1500)]
    pub(crate) async fn find_soft(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The same, but the query is a task of its own: the one who begins it takes the stale copy too, and without one may
    /// go away while the query goes on.
    #[single_flight(key = "user:<id>", ttl = 30, soft_ttl = 10, lock_ttl_ms = 1500, spawn)]
    pub(crate) async fn find_spawned(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The same, but nobody takes a stale copy.
    #[single_flight(key = "user:<id>", ttl = 30, soft_ttl = 10, lock_ttl_ms = 1500, losers = "wait")]
    pub(crate) async fn find_patiently(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The same, but nobody waits: without a copy, all but one take a placeholder.
    #[single_flight(
        key = "user:<id>", ttl = 30, soft_ttl = 10, lock_ttl_ms = 1500,
        losers = "default", default = Some(User::guest()),
    )]
    pub(crate) async fn find_or_guest(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The same, but nobody waits: without a copy, all but one get an error.
    #[single_flight(key = "user:<id>", ttl = 30, soft_ttl = 10, lock_ttl_ms = 1500, losers = "fail")]
    pub(crate) async fn find_or_fail(&self, id: UserId) -> Result<Option<User>, RepoError> {
        self.query(id).await
    }

    /// The expensive part.
    async fn query(&self, id: UserId) -> Result<Option<User>, RepoError> {
        let row: Option<(u32, String, String, i64)> =
            sqlx::query_as("SELECT id, name, email, revision FROM users WHERE id = ?1")
                .bind(id.0)
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(id, name, email, revision)| User { id, name, email, revision }))
    }
}
