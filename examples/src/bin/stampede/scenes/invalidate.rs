//! A row that changes while it is being loaded.

use singleflight_core::key;

use crate::database::CONNECTIONS;
use crate::repository::{UserId, Users};
use crate::row::Row;
use crate::scene::{Report, counted};
use crate::stage::{Stage, StageError};
use crate::wave::{Answer, Found};

/// A herd is waiting for the old row; the row is changed and its key invalidated; a second herd comes while the first
/// query is still running.
pub(crate) async fn invalidate(stage: &Stage) -> Result<Report, StageError> {
    let play = stage.play(stage.backend.engine(), stage.load).await?;
    let callers = stage.callers as usize;
    let mark = play.mark();
    play.hold();
    let before = play.send(stage.herd(), find);
    before.asked().await;
    // From here on the first queries see the rows as they are now, whatever is written.
    play.database.meter.reached(u64::from(stage.keys.min(CONNECTIONS))).await;
    let revision = play.database.rename().await?;
    for id in stage.keys() {
        play.flights.invalidate(&key!("user:<id>")).await?;
    }
    let after = play.send(stage.herd(), find);
    after.asked().await;
    play.database.meter.release();
    let (before, after) = (before.answers().await, after.answers().await);
    let old = Row::new("", callers, &before, revision).stale;
    let stale = Row::new("", callers, &after, revision).stale;
    let all: Vec<Answer> = before.into_iter().chain(after).collect();
    let mut row = play.row(&mark, Row::new("", all.len(), &all, revision));
    // Whoever asked before the change may be told of the row as it was.
    row.stale = stale;
    let last = play.burst(stage.keys(), find).await;
    let kept = Row::new("", last.len(), &last, revision).stale;
    play.database.close().await;

    let expected = "who asks after the invalidate gets the new row, and the old one is not stored: two queries for \
                    each key";
    let seen = format!(
        "{}; {stale} of {callers} later callers got the old row ({old} of {callers} earlier ones), {kept} {} stored",
        counted(row.queries, "query", "queries"),
        if kept == 1 { "is" } else { "are" },
    );
    let right = row.queries == 2 * u64::from(stage.keys) && stale == 0 && kept == 0 && row.errors == 0;
    Ok(Report::new(expected, seen, right, vec![row]))
}

async fn find(users: Users, id: UserId) -> Found {
    users.find(id).await
}
