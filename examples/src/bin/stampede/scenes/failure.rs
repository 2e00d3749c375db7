//! A leader that goes away, and a query that fails.

use crate::repository::{RepoError, UserId, Users};
use crate::row::Row;
use crate::scene::{Report, counted};
use crate::stage::{Stage, StageError};
use crate::wave::Found;

/// A herd whose first caller goes away.
pub(crate) struct Cancelled {
    pub(crate) row: Row,
    /// The callers that have an answer.
    pub(crate) answered: usize,
    /// The queries of a caller for each key that comes when all is over.
    pub(crate) later: u64,
}

/// The first caller is dropped in the middle of its query, as by a client that hangs up.
pub(crate) async fn with_a_cancelled_leader<F>(
    stage: &Stage,
    variant: &str,
    call: impl Fn(Users, UserId) -> F,
) -> Result<Cancelled, StageError>
where
    F: Future<Output = Found> + Send + 'static,
{
    let play = stage.play(stage.backend.engine(), stage.load).await?;
    let mark = play.mark();
    play.hold();
    let leader = play.send(stage.herd().take(1), &call);
    play.database.meter.reached(1).await;
    let others = play.send(stage.herd().skip(1), &call);
    others.asked().await;
    leader.cancel().await;
    play.database.meter.release();
    let answers = others.answers().await;
    play.landed().await;
    let row = play.row(&mark, Row::new(variant, stage.callers as usize, &answers, 1));
    let queries = play.database.meter.queries();
    play.burst(stage.keys(), &call).await;
    let later = play.database.meter.queries() - queries;
    play.database.close().await;
    Ok(Cancelled { row, answered: answers.len(), later })
}

/// One of those who wait takes over.
pub(crate) async fn cancelled_leader(stage: &Stage) -> Result<Report, StageError> {
    let Cancelled { row, answered, .. } = with_a_cancelled_leader(stage, "", find).await?;
    let successors = successors(stage);
    let expected = "one of those who wait takes over with a query of its own, the others go on waiting";
    let seen = format!(
        "{}, one of them in vain; {} answered, {}",
        counted(row.queries, "query", "queries"),
        counted(answered as u64, "caller", "callers"),
        counted(row.errors as u64, "error", "errors"),
    );
    let right = row.queries == u64::from(stage.keys) + successors && row.errors == 0 && row.cancelled == 1;
    Ok(Report::new(expected, seen, right, vec![row]))
}

/// Only where someone waits for the leader is there someone to take over.
pub(crate) fn successors(stage: &Stage) -> u64 {
    u64::from(stage.callers > stage.keys)
}

/// A row that SQLite cannot make sense of.
pub(crate) async fn failing_query(stage: &Stage) -> Result<Report, StageError> {
    let play = stage.play(stage.backend.engine(), stage.load).await?;
    play.database.spoil().await?;
    let mark = play.mark();
    let answers = play.burst(stage.herd(), find).await;
    let row = play.row(&mark, Row::new("", stage.callers as usize, &answers, 1));
    play.database.close().await;

    let own = |found: &Found| matches!(found, Err(RepoError::Database(_)));
    let shared = |found: &Found| matches!(found, Err(RepoError::Flight(_)));
    let (own, shared) = (
        answers.iter().filter(|answer| own(&answer.found)).count(),
        answers.iter().filter(|answer| shared(&answer.found)).count(),
    );
    let expected = "one failing query for each key, and all who waited for it are told of the failure";
    let seen = format!(
        "{}; {} got SQLite's error, {shared} a FlightError that carries its message",
        counted(row.queries, "query", "queries"),
        counted(own as u64, "caller", "callers"),
    );
    let right =
        row.queries == u64::from(stage.keys) && own == stage.keys as usize && shared == stage.losers();
    Ok(Report::new(expected, seen, right, vec![row]))
}

async fn find(users: Users, id: UserId) -> Found {
    users.find(id).await
}
