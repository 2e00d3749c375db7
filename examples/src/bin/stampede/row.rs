//! What is shown of one herd: a row of the table.

use std::time::Duration;

use serde::Serialize;
use singleflight_core::observe::Figures;

use crate::wave::Answer;

/// How a herd fared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Tells the rows of one scene apart; empty where there is one.
    pub(crate) variant: String,
    pub(crate) callers: usize,
    /// Queries that SQLite ran.
    pub(crate) queries: u64,
    pub(crate) latency_ms: Latency,
    /// Answers older than the database's row was when the herd began to ask.
    pub(crate) stale: usize,
    /// Answers that were the function's default.
    pub(crate) defaults: usize,
    pub(crate) errors: usize,
    /// Callers that went away.
    pub(crate) cancelled: usize,
    /// How often a lease was granted.
    pub(crate) leases: u64,
    /// How often one was renewed.
    pub(crate) renewals: u64,
    /// Values kept out of the store because their lease was no longer the right one.
    pub(crate) fenced: u64,
}

/// How long callers waited, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Row {
    /// Of a herd of `callers` that asked when the database's rows were at `revision`.
    pub(crate) fn new(variant: &str, callers: usize, answers: &[Answer], revision: i64) -> Self {
        let found = |what: &dyn Fn(&crate::repository::User) -> bool| {
            answers.iter().filter(|answer| matches!(&answer.found, Ok(Some(user)) if what(user))).count()
        };
        Self {
            variant: variant.to_owned(),
            callers,
            queries: 0,
            latency_ms: Latency::of(answers.iter().map(|answer| answer.took).collect()),
            stale: found(&|user| !user.is_guest() && user.revision < revision),
            defaults: found(&|user| user.is_guest()),
            errors: answers.iter().filter(|answer| answer.found.is_err()).count(),
            cancelled: callers.saturating_sub(answers.len()),
            leases: 0,
            renewals: 0,
            fenced: 0,
        }
    }

    /// With what the database and the engine counted.
    pub(crate) fn counted(mut self, queries: u64, before: &Figures, after: &Figures) -> Self {
        self.queries = queries;
        self.leases = after.acquires_granted - before.acquires_granted;
        self.renewals = after.renewals - before.renewals;
        self.fenced = after.fenced - before.fenced;
        self
    }
}

impl Latency {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        // The smallest time that this many in a hundred did not exceed.
        let quantile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).map_or(0.0, |time| round(time.as_secs_f64() * 1e3))
        };
        Self { p50: quantile(50), p99: quantile(99), max: quantile(100) }
    }
}

/// To the microsecond, so that the document is short.
fn round(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}
