//! All processes find nothing stored, at once.

use crate::fleet::play::Play;
use crate::fleet::row::Row;
use crate::fleet::scene::FleetReport;
use crate::fleet::{FleetError, Sharing, Stage};
use crate::scene::counted;

/// The line from the read-me, in every process.
pub(crate) async fn single_flight(stage: &mut Stage) -> Result<FleetReport, FleetError> {
    let play = Play::begin(stage, stage.load).await?;
    let row = burst(stage, play).await?;
    let queries = queries(stage.expected_queries());
    let expected = match &stage.sharing {
        Sharing::Server(_) => format!("one query for all processes: {queries}"),
        Sharing::Process => format!("each process has a flight of its own and knows of no other: {queries}"),
        Sharing::Nothing => format!("`noop:` switches the library off, every caller queries: {queries}"),
    };
    let seen = seen(stage, &row);
    let right = row.queries == stage.expected_queries() && row.errors == 0;
    Ok(FleetReport::new(expected, seen, right, row))
}

/// A row that SQLite cannot make sense of.
pub(crate) async fn failing_query(stage: &mut Stage) -> Result<FleetReport, FleetError> {
    let play = Play::begin(stage, stage.load).await?;
    play.database.spoil().await?;
    let row = burst(stage, play).await?;
    let queries = queries(stage.expected_queries());
    let expected = match &stage.sharing {
        Sharing::Server(_) => {
            format!("one failing query for all processes, and all who wait are told: {queries}")
        }
        Sharing::Process => format!("one failing query for each process: {queries}"),
        Sharing::Nothing => format!("every caller queries in vain: {queries}"),
    };
    let seen = format!("{}, {}", seen(stage, &row), counted(row.errors as u64, "error", "errors"));
    let right = row.queries == stage.expected_queries() && row.errors == stage.callers as usize;
    Ok(FleetReport::new(expected, seen, right, row))
}

async fn burst(stage: &mut Stage, mut play: Play) -> Result<Row, FleetError> {
    play.send(stage).await?;
    play.release()?;
    play.answered().await?;
    let sent = play.sent(stage).await?;
    let row = Row::new(&play, stage.callers, sent);
    play.database.close().await;
    Ok(row)
}

fn queries(number: usize) -> String {
    counted(number as u64, "query", "queries")
}

fn seen(stage: &Stage, row: &Row) -> String {
    format!("{} for {} callers in {} processes", queries(row.queries), row.callers, stage.processes)
}
