//! Something happens to the process that loads, while all others wait for it.

use std::time::Duration;

use crate::fleet::message::{By, Moment, Outcome};
use crate::fleet::play::Play;
use crate::fleet::row::{Row, Takeover, lateness};
use crate::fleet::scene::FleetReport;
use crate::fleet::{FleetError, Stage};
use crate::row::Latency;
use crate::scene::counted;

/// Killed in the middle of its query.
pub(crate) async fn killed(stage: &mut Stage) -> Result<FleetReport, FleetError> {
    let mut play = Play::begin(stage, stage.load).await?;
    play.send(stage).await?;
    play.kill_leader()?;
    let asked = Moment::now();
    let left = play.lease_left(stage).await?;
    play.release()?;
    play.answered().await?;
    let sent = play.sent(stage).await?;
    let mut row = Row::new(&play, stage.callers, sent);
    let ended = asked.after(left);
    let late = play.queries.get(1).map(|(_, began)| began.since(ended));
    row.takeover = late.map(|late| Takeover { lease_left: ms(left), after_lease: ms(late) });
    let early = play.queries.get(1).is_some_and(|(_, began)| *began < asked.after(left - left.min(TICK)));
    let lost = play.callers_of(play.leader());
    play.database.close().await;

    let expected =
        "when the lease of the killed process ends, one process takes over, and all others go on waiting";
    let late = late.map_or_else(|| "never".to_owned(), |late| format!("{:.1} ms", ms(late)));
    let seen = format!(
        "{}, {late} after the {} ms that the lease had left; {} answered, {}",
        counted(row.queries.saturating_sub(1) as u64, "successor", "successors"),
        left.as_millis(),
        row.callers - row.killed,
        counted(row.errors as u64, "error", "errors"),
    );
    let right = row.queries == 2 && !early && row.errors == 0 && row.killed == lost;
    Ok(FleetReport::new(expected, seen, right, row))
}

/// Stopped in the middle of its query until another process has taken over, and the row has changed meanwhile.
pub(crate) async fn paused(stage: &mut Stage) -> Result<FleetReport, FleetError> {
    let mut play = Play::begin(stage, stage.load).await?;
    play.send(stage).await?;
    play.leading().pause()?;
    let revision = play.database.rename().await?;
    // For the paused one it comes when it goes on.
    play.release()?;
    play.others_answered().await?;
    play.leading().resume()?;
    play.answered().await?;
    let sent = play.sent(stage).await?;
    let mut row = Row::new(&play, stage.callers, sent);
    let leader = play.leader();
    let (paused, others): (Vec<_>, Vec<_>) =
        play.outcomes.iter().flatten().cloned().enumerate().partition(|(number, _)| *number == leader);
    // Those in the paused process stood still as well.
    row.late_ms = Latency::of(lateness(others.iter().map(|(_, outcome)| outcome)));
    let old =
        |outcome: &Outcome| outcome.replies.iter().filter(|reply| reply.revision < Some(revision)).count();
    let own = paused.iter().map(|(_, outcome)| old(outcome)).sum::<usize>();
    let stale = others.iter().map(|(_, outcome)| old(outcome)).sum::<usize>();
    let again = play.ask_again().await?;
    let stored = again.iter().flat_map(|outcome| &outcome.replies);
    let new = stored.filter(|reply| (reply.by, reply.revision) == (By::Store, Some(revision))).count();
    let queries = play.queries.len();
    play.database.close().await;

    let expected = "one process takes over; the paused one answers its own caller when it goes on, and its old row \
                    is not stored";
    let seen = format!(
        "{}, {} fenced; the old row went to {} there, {stale} elsewhere, and is {}",
        counted(queries.saturating_sub(1) as u64, "successor", "successors"),
        row.fenced,
        counted(own as u64, "caller", "callers"),
        if new == again.len() { "not stored" } else { "STORED" },
    );
    let right = (queries, own, stale, row.fenced, row.errors, row.killed) == (2, 1, 0, 1, 0, 0)
        && new == stage.processes;
    Ok(FleetReport::new(expected, seen, right, row))
}

/// The server rounds what is left of a lease.
const TICK: Duration = Duration::from_millis(1);

fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
