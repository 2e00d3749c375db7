//! What is shown of one fleet's herd: a row of the table.

use std::time::Duration;

use serde::Serialize;

use super::message::{By, Outcome};
use super::monitor::Sent;
use super::play::Play;
use crate::row::Latency;

/// How the herd fared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) callers: u32,
    /// Queries that SQLite ran, in all processes.
    pub(crate) queries: usize,
    /// Commands that clients sent to the server; `None` without a server, or where it does not tell.
    pub(crate) commands: Option<u64>,
    pub(crate) round_trips: Option<u64>,
    /// How long after the end of the load those who waited for it had their answers.
    pub(crate) late_ms: Latency,
    pub(crate) errors: usize,
    /// Callers whose process was killed.
    pub(crate) killed: u32,
    /// How often a lease was renewed.
    pub(crate) renewals: u64,
    /// Values kept out of the store because their lease was no longer the right one.
    pub(crate) fenced: u64,
    /// When the next load began, where a process was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) takeover: Option<Takeover>,
}

/// When a successor's query began, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Takeover {
    /// What was left of the killed leader's lease.
    pub(crate) lease_left: f64,
    /// From the end of that lease on.
    pub(crate) after_lease: f64,
}

impl Row {
    pub(crate) fn new(play: &Play, callers: u32, sent: Option<Sent>) -> Self {
        let answered: Vec<(usize, &Outcome)> = play
            .outcomes
            .iter()
            .enumerate()
            .filter_map(|(at, outcome)| Some((at, outcome.as_ref()?)))
            .collect();
        let outcomes = || answered.iter().map(|(_, outcome)| *outcome);
        let replies = || outcomes().flat_map(|outcome| &outcome.replies);
        Self {
            callers,
            queries: play.queries.len(),
            commands: sent.map(|sent| sent.commands),
            round_trips: sent.map(|sent| sent.round_trips),
            late_ms: Latency::of(lateness(outcomes())),
            errors: replies().filter(|reply| reply.revision.is_none()).count(),
            killed: callers - u32::try_from(replies().count()).unwrap_or(callers),
            renewals: outcomes().map(|outcome| outcome.renewals).sum(),
            fenced: outcomes().map(|outcome| outcome.fenced).sum(),
            takeover: None,
        }
    }
}

/// How late each waiter was: after the load of its own process, where there was one, or else of the fleet's.
pub(crate) fn lateness<'a>(outcomes: impl Iterator<Item = &'a Outcome> + Clone) -> Vec<Duration> {
    let last = outcomes.clone().filter_map(|outcome| outcome.filled).max();
    let mut late = Vec::new();
    for outcome in outcomes {
        let Some(end) = outcome.filled.or(last) else { continue };
        let waiters = outcome.replies.iter().filter(|reply| reply.by == By::Other);
        late.extend(waiters.map(|reply| reply.at.since(end)));
    }
    late
}
