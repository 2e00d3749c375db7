//! The repository: each read has one line that keeps herds from the database, each write one that drops what it changed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use singleflight_core::{FlightError, SingleFlight, invalidates, key, single_flight};
use sqlx::any::AnyRow;
use sqlx::{AnyPool, FromRow, Row};

pub(crate) type UserId = i64;

/// A row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) id: UserId,
    pub(crate) name: String,
    pub(crate) email: String,
}

impl FromRow<'_, AnyRow> for User {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self { id: row.try_get("id")?, name: row.try_get("name")?, email: row.try_get("email")? })
    }
}

/// A row to be.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NewUser {
    pub(crate) name: String,
    pub(crate) email: String,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RepoError {
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// Someone else's load, which this call waited for, failed or took too long.
    #[error(transparent)]
    Flight(#[from] FlightError),
}

/// The users. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    pool: AnyPool,
    delay: Duration,
}

impl Users {
    pub(crate) const fn new(pool: AnyPool, delay: Duration) -> Self {
        Self { pool, delay }
    }

    /// One user. After half a minute one caller reads the row again, and the others get the old one meanwhile. That there
    /// is none is believed for ten seconds.
    #[single_flight(key = "user:<id>", ttl = "5m", soft_ttl = "30s", negative_ttl = "10s")]
    pub(crate) async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
        tokio::time::sleep(self.delay).await;
        let query = sqlx::query_as("SELECT id, name, email FROM users WHERE id = $1").bind(id);
        Ok(query.fetch_optional(&self.pool).await?)
    }

    /// Who has this address. The row is found by its number, so that it is stored once and dropped once.
    #[single_flight(key = "user-with-email:<email>", ttl = "5m", negative_ttl = "10s")]
    pub(crate) async fn id_of(&self, email: &str) -> Result<Option<UserId>, RepoError> {
        tokio::time::sleep(self.delay).await;
        let query = sqlx::query_scalar("SELECT id FROM users WHERE email = $1").bind(email);
        Ok(query.fetch_optional(&self.pool).await?)
    }

    /// The last ten. Everybody asks for them and nobody minds a few seconds: they are read anew in a task, so that not even
    /// the caller that begins it waits.
    #[single_flight(key = "users:newest", ttl = "5m", soft_ttl = "2s", spawn)]
    pub(crate) async fn newest(&self) -> Result<Vec<User>, RepoError> {
        tokio::time::sleep(self.delay).await;
        let query = sqlx::query_as("SELECT id, name, email FROM users ORDER BY id DESC LIMIT 10");
        Ok(query.fetch_all(&self.pool).await?)
    }

    /// Adds one. What was believed of its address, and of a number that nobody had, is dropped.
    #[invalidates(key = "user-with-email:<new.email>", key = "users:newest")]
    pub(crate) async fn create(&self, new: NewUser) -> Result<User, RepoError> {
        let insert = "INSERT INTO users (name, email) VALUES ($1, $2) RETURNING id, name, email";
        let user: User = sqlx::query_as(insert).bind(new.name).bind(new.email).fetch_one(&self.pool).await?;
        let id = user.id;
        drop_copies(&key!("user:<id>")).await;
        Ok(user)
    }

    /// Gives one another name; whether there is such a user.
    #[invalidates(key = "user:<id>", key = "users:newest")]
    pub(crate) async fn rename(&self, id: UserId, name: &str) -> Result<bool, RepoError> {
        let update = sqlx::query("UPDATE users SET name = $1 WHERE id = $2").bind(name).bind(id);
        Ok(update.execute(&self.pool).await?.rows_affected() > 0)
    }

    /// Removes one, whose address is known only when the row is read; whether there was such a user.
    #[invalidates(key = "user:<id>", key = "users:newest")]
    pub(crate) async fn remove(&self, id: UserId) -> Result<bool, RepoError> {
        let delete = sqlx::query_scalar("DELETE FROM users WHERE id = $1 RETURNING email").bind(id);
        let email: Option<String> = delete.fetch_optional(&self.pool).await?;
        if let Some(email) = &email {
            drop_copies(&key!("user-with-email:<email>")).await;
        }
        Ok(email.is_some())
    }

    /// Whether the database answers.
    pub(crate) async fn ping(&self) -> Result<(), RepoError> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }
}

/// By hand, for a key that becomes known only in the function's body. The write has been done, so that a backend that is
/// away is no reason to fail: the engine remembers the key and sends it before the backend is used again.
async fn drop_copies(key: &str) {
    if let Err(error) = SingleFlight::current().invalidate(key).await {
        tracing::warn!(%error, "an invalidation waits until the backend is back");
    }
}
