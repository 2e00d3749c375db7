//! What callers without the lease may do, side by side: `losers = "stale"`, `"wait"`, `"default"`, `"fail"`.

use super::freshness::with_a_stale_copy;
use crate::repository::{UserId, Users};
use crate::row::Row;
use crate::scene::Report;
use crate::stage::{Stage, StageError};
use crate::wave::Found;

/// Each policy, with a stale copy in the store and with nothing there.
pub(crate) async fn losers(stage: &Stage) -> Result<Report, StageError> {
    let mut rows = Vec::new();
    let stale = |users: Users, id| async move { users.find_soft(id).await };
    let wait = |users: Users, id| async move { users.find_patiently(id).await };
    let default = |users: Users, id| async move { users.find_or_guest(id).await };
    let fail = |users: Users, id| async move { users.find_or_fail(id).await };
    rows.push(with_a_stale_copy(stage, "\"stale\", old copy", stale).await?);
    rows.push(with_a_stale_copy(stage, "\"wait\", old copy", wait).await?);
    rows.push(with_a_stale_copy(stage, "\"default\", old copy", default).await?);
    rows.push(with_a_stale_copy(stage, "\"fail\", old copy", fail).await?);
    rows.push(with_nothing(stage, "\"stale\", nothing", stale).await?);
    rows.push(with_nothing(stage, "\"wait\", nothing", wait).await?);
    rows.push(with_nothing(stage, "\"default\", nothing", default).await?);
    rows.push(with_nothing(stage, "\"fail\", nothing", fail).await?);

    let losers = stage.losers();
    // Stale answers, defaults and errors of each row.
    let right = [
        (losers, 0, 0),
        (0, 0, 0),
        (losers, 0, 0),
        (losers, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (0, losers, 0),
        (0, 0, losers),
    ];
    let answers = |row: &Row| (row.stale, row.defaults, row.errors);
    let keys = u64::from(stage.keys);
    let as_expected = rows.iter().map(answers).eq(right) && rows.iter().all(|row| row.queries == keys);
    let sum = |what: fn(&Row) -> usize| rows.iter().map(what).sum::<usize>();
    let seen = format!(
        "{} stale answers, {} defaults and {} errors in eight herds",
        sum(|row| row.stale),
        sum(|row| row.defaults),
        sum(|row| row.errors),
    );
    let expected = "one query for each key whatever the losers do; an old copy is served unless they \"wait\"; with \
                    nothing stored they wait, or take the \"default\" or \"fail\" at once";
    Ok(Report::new(expected, seen, as_expected, rows))
}

/// A herd that finds nothing stored.
async fn with_nothing<F>(
    stage: &Stage,
    variant: &str,
    call: impl Fn(Users, UserId) -> F,
) -> Result<Row, StageError>
where
    F: Future<Output = Found> + Send + 'static,
{
    let play = stage.play(stage.backend.engine(), stage.load).await?;
    let mark = play.mark();
    let answers = play.burst(stage.herd(), call).await;
    let row = play.row(&mark, Row::new(variant, stage.callers as usize, &answers, 1));
    play.database.close().await;
    Ok(row)
}
