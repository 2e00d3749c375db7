//! Queries that are tasks of their own beside those in their callers: who waits, and what outlives whom.

use super::failure::{Cancelled, successors, with_a_cancelled_leader};
use super::freshness::with_a_stale_copy;
use crate::repository::{UserId, Users};
use crate::scene::Report;
use crate::stage::{Stage, StageError};

/// Each kind with a stale copy in the store, and with a caller that goes away.
pub(crate) async fn spawn(stage: &Stage) -> Result<Report, StageError> {
    let plain = |users: Users, id: UserId| async move { users.find_soft(id).await };
    let spawned = |users: Users, id: UserId| async move { users.find_spawned(id).await };
    let old_copies = [
        with_a_stale_copy(stage, "plain, old copy", plain).await?,
        with_a_stale_copy(stage, "spawn, old copy", spawned).await?,
    ];
    let gone = [
        with_a_cancelled_leader(stage, "plain, caller gone", plain).await?,
        with_a_cancelled_leader(stage, "spawn, caller gone", spawned).await?,
    ];

    let (keys, callers, successors) = (u64::from(stage.keys), stage.callers as usize, successors(stage));
    let stale = old_copies.each_ref().map(|row| (row.queries, row.stale));
    let queries = gone.each_ref().map(|herd| (herd.row.queries, herd.later));
    let right = stale == [(keys, stage.losers()), (keys, callers)]
        // Without a task, a load that nobody took over was in vain: its key has to be loaded again.
        && queries == [(keys + successors, 1 - successors), (keys, 0)];
    let seen = format!(
        "{} and {} of {callers} callers got the old copy; {} and {} queries where the first caller went away",
        stale[0].1, stale[1].1, queries[0].0, queries[1].0,
    );
    let expected = "as a task, the refresh holds up nobody, not even the one who began it, and a query goes on when its \
                    caller goes away, so that nobody has to begin it again";
    let rows: Vec<_> = old_copies.into_iter().chain(gone.map(|Cancelled { row, .. }| row)).collect();
    let as_expected = right && rows.iter().all(|row| row.errors == 0);
    Ok(Report::new(expected, seen, as_expected, rows))
}
