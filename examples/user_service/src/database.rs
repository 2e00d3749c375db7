//! The database, SQLite or PostgreSQL, as its URL says.

use std::time::Duration;

use anyhow::Context;
use sqlx::AnyPool;
use sqlx::any::AnyPoolOptions;

const SQLITE: &[&str] = &[
    // Readers and a writer do not wait for each other.
    "PRAGMA journal_mode = WAL",
    "CREATE TABLE IF NOT EXISTS users (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        email TEXT NOT NULL UNIQUE
    )",
];

const POSTGRES: &[&str] = &[
    // Instances that start together would make the table together, which fails for all but one.
    "SELECT pg_advisory_lock(8170)",
    "CREATE TABLE IF NOT EXISTS users (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name TEXT NOT NULL,
        email TEXT NOT NULL UNIQUE
    )",
    "SELECT pg_advisory_unlock(8170)",
];

/// Connects, and makes the table if there is none.
pub(crate) async fn open(url: &str) -> anyhow::Result<AnyPool> {
    sqlx::any::install_default_drivers();
    let schema = match url.split_once(':') {
        Some(("sqlite", _)) => SQLITE,
        Some(("postgres" | "postgresql", _)) => POSTGRES,
        // The rest of it may hold a password.
        _ => anyhow::bail!("DATABASE_URL begins with neither `sqlite:` nor `postgres:`"),
    };
    let pool =
        AnyPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(5)).connect(url).await;
    let pool = pool.context("the database in DATABASE_URL cannot be opened")?;
    let mut connection = pool.acquire().await?;
    for statement in schema {
        sqlx::raw_sql(*statement)
            .execute(&mut *connection)
            .await
            .context("the table of users cannot be made")?;
    }
    drop(connection);
    Ok(pool)
}
