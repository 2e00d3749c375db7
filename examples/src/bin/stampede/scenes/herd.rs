//! A herd that finds nothing stored, and nothing goes wrong.

use std::time::Duration;

use singleflight_core::control;

use crate::repository::{UserId, Users};
use crate::row::Row;
use crate::scene::{Report, counted};
use crate::stage::{Stage, StageError};
use crate::wave::Found;

/// The lease of [`Users::find_at_length`] ends after 5 s unless it is renewed, which it is three times in that.
const OUTLIVES_THE_LEASE: Duration = Duration::from_millis(7500);

/// Every caller for itself.
pub(crate) async fn no_protection(stage: &Stage) -> Result<Report, StageError> {
    let find = |users: Users, id| async move { control::bypass(users.find(id)).await };
    let row = burst(stage, stage.load, find).await?;
    let expected = format!("every caller queries: {}", counted(stage.callers, "query", "queries"));
    let seen = format!("{}, waiting for the database", counted(row.queries, "query", "queries"));
    let right = row.queries == u64::from(stage.callers);
    Ok(Report::new(expected, seen, right, vec![row]))
}

/// The line from the read-me.
pub(crate) async fn single_flight(stage: &Stage) -> Result<Report, StageError> {
    let row = burst(stage, stage.load, find).await?;
    let expected = format!("one query for each key: {}", counted(stage.keys, "query", "queries"));
    let seen = format!("{} for {}", counted(row.queries, "query", "queries"), callers(row.callers));
    let right = row.queries == u64::from(stage.keys) && row.errors == 0;
    Ok(Report::new(expected, seen, right, vec![row]))
}

/// A query that takes longer than the lease lasts.
pub(crate) async fn long_load(stage: &Stage) -> Result<Report, StageError> {
    let find = |users: Users, id| async move { users.find_at_length(id).await };
    let row = burst(stage, stage.load.max(OUTLIVES_THE_LEASE), find).await?;
    let expected = "the lease of 5 s is renewed until the query ends: still one query for each key";
    let seen = format!(
        "{}, {}",
        counted(row.queries, "query", "queries"),
        counted(row.renewals, "renewal", "renewals"),
    );
    let right = row.queries == u64::from(stage.keys) && row.renewals > 0 && row.errors == 0;
    Ok(Report::new(expected, seen, right, vec![row]))
}

async fn find(users: Users, id: UserId) -> Found {
    users.find(id).await
}

async fn burst<F>(stage: &Stage, load: Duration, call: impl Fn(Users, UserId) -> F) -> Result<Row, StageError>
where
    F: Future<Output = Found> + Send + 'static,
{
    let play = stage.play(stage.backend.engine(), load).await?;
    let mark = play.mark();
    let answers = play.burst(stage.herd(), call).await;
    let row = play.row(&mark, Row::new("", stage.callers as usize, &answers, 1));
    play.database.close().await;
    Ok(row)
}

fn callers(callers: usize) -> String {
    format!("{callers} caller{}", if callers == 1 { "" } else { "s" })
}
