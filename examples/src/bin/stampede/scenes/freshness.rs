//! A value past its soft TTL.

use std::time::Duration;

use singleflight_core::Clock;

use crate::repository::{UserId, Users};
use crate::row::Row;
use crate::scene::{Report, counted};
use crate::stage::{Stage, StageError};
use crate::wave::Found;

/// Between the soft TTL and the hard one of the functions in use.
const STALE: Duration = Duration::from_secs(15);

/// The row has changed, and the copy of it is stale but servable.
pub(crate) async fn soft_expiry(stage: &Stage) -> Result<Report, StageError> {
    let find = |users: Users, id| async move { users.find_soft(id).await };
    let row = with_a_stale_copy(stage, "", find).await?;
    let expected = "one caller for each key refreshes the copy, the others take it as it is, at once";
    let seen = format!(
        "{}, {}",
        counted(row.queries, "query", "queries"),
        counted(row.stale as u64, "stale answer", "stale answers"),
    );
    let right = row.queries == u64::from(stage.keys) && row.stale == stage.losers() && row.errors == 0;
    Ok(Report::new(expected, seen, right, vec![row]))
}

/// A herd that finds an old copy of every key.
pub(crate) async fn with_a_stale_copy<F>(
    stage: &Stage,
    variant: &str,
    call: impl Fn(Users, UserId) -> F,
) -> Result<Row, StageError>
where
    F: Future<Output = Found> + Send + 'static,
{
    // Putting the store's clock forward is quicker than waiting for the copy to grow old.
    let (clock, hand) = Clock::manual();
    let play = stage.play(stage.backend.engine_at(clock), stage.load).await?;
    play.burst(stage.keys(), &call).await;
    let revision = play.database.rename().await?;
    hand.advance(STALE);
    let mark = play.mark();
    let answers = play.burst(stage.herd(), &call).await;
    play.landed().await;
    let row = play.row(&mark, Row::new(variant, stage.callers as usize, &answers, revision));
    play.database.close().await;
    Ok(row)
}
