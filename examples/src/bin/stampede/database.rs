//! The database: a real SQLite file, filled by this program, that counts the queries it runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::meter::Meter;

/// The connections that a service of this size would have. A herd queues for them.
pub(crate) const CONNECTIONS: u32 = 16;

/// `users` is a view, so that SQLite itself tells of each query while it runs it. SQLite has no trigger on SELECT, and
/// its trace (`sqlite3_trace_v2`) cannot be reached without `unsafe`; but it lets a program give it a collation, and
/// calls that for every comparison. The row of the user asked for is found by its key and then compared once, in
/// SQLite's own loop, on the thread of the connection. So what is counted is what SQLite ran, for whomever, and the
/// repository's code and SQL stay plain.
///
/// The e-mail address is inside a JSON document, which may be broken: then the query fails.
const SCHEMA: &str = "
    CREATE TABLE user_rows (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        profile TEXT NOT NULL,
        revision INTEGER NOT NULL,
        mark TEXT NOT NULL DEFAULT 'row'
    );
    CREATE VIEW users AS
        SELECT id, name, profile ->> '$.email' AS email, revision
        FROM user_rows WHERE mark = 'row' COLLATE metered;
";

const FILL: &str = "
    WITH RECURSIVE ids (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM ids WHERE id < ?1)
    INSERT INTO user_rows (id, name, profile, revision)
        SELECT id, 'user ' || id, json_object('email', 'user' || id || '@example.org'), 1 FROM ids
";

/// A SQLite file with users 1, 2, 3 and so on.
#[derive(Debug)]
pub(crate) struct Database {
    pool: SqlitePool,
    /// For the scene's own writes: a connection that the herd cannot take.
    writer: SqlitePool,
    pub(crate) meter: Arc<Meter>,
}

impl Database {
    /// Makes the file and fills it; queries of `users` take `load`.
    pub(crate) async fn create(file: &Path, users: u32, load: Duration) -> Result<Self, sqlx::Error> {
        let database = Self::open(file, load).await?;
        sqlx::raw_sql(SCHEMA).execute(&database.writer).await?;
        sqlx::query(FILL).bind(users).execute(&database.writer).await?;
        Ok(database)
    }

    /// Opens the file, here or in another process; what is counted are the queries of this one.
    pub(crate) async fn open(file: &Path, load: Duration) -> Result<Self, sqlx::Error> {
        let meter = Arc::new(Meter::new(load));
        let counted = meter.clone();
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            // Readers see the rows as they were when their query began, while others write.
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Off)
            .collation("metered", move |a, b| {
                counted.query();
                a.cmp(b)
            });
        let writer = pool(1).connect_with(options.clone()).await?;
        let pool = pool(CONNECTIONS).connect_with(options).await?;
        Ok(Self { pool, writer, meter })
    }

    /// The connections that the repository uses.
    pub(crate) fn pool(&self) -> SqlitePool {
        self.pool.clone()
    }

    /// Changes every user's row, as another service would; the new revision.
    pub(crate) async fn rename(&self) -> Result<i64, sqlx::Error> {
        let change = "UPDATE user_rows SET name = name || '!', revision = revision + 1";
        sqlx::query(change).execute(&self.writer).await?;
        sqlx::query_scalar("SELECT max(revision) FROM user_rows").fetch_one(&self.writer).await
    }

    /// Breaks every user's profile, so that queries fail in the middle.
    pub(crate) async fn spoil(&self) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE user_rows SET profile = '{ broken'").execute(&self.writer).await?;
        Ok(())
    }

    /// Ends all connections, when the queries they run have ended.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
        self.writer.close().await;
    }
}

fn pool(connections: u32) -> SqlitePoolOptions {
    // A herd may queue for as long as it takes: the time it waits is what is to be seen.
    SqlitePoolOptions::new().max_connections(connections).acquire_timeout(Duration::from_secs(24 * 3600))
}
