//! The scenes by name, and what is told of one.

use clap::ValueEnum;
use serde::Serialize;

use crate::backend::BackendChoice;
use crate::row::Row;
use crate::scenes;
use crate::stage::{Stage, StageError};

/// Something that happens to a hot key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scene {
    /// Every caller runs its own query
    NoProtection,
    /// One query for each key
    SingleFlight,
    /// A query longer than the lease
    LongLoad,
    /// The value is past its soft TTL
    SoftExpiry,
    /// The caller that loads goes away
    CancelledLeader,
    /// The query fails
    FailingQuery,
    /// The row changes while it is being loaded
    Invalidate,
    /// What callers without the lease may do
    Losers,
    /// The query is a task of its own
    Spawn,
    /// A lease outlived, and released by plain DEL or by token
    Unlock,
}

/// What is told of a scene.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) scene: &'static str,
    pub(crate) expected: String,
    pub(crate) seen: String,
    pub(crate) as_expected: bool,
    pub(crate) rows: Vec<Row>,
}

impl Scene {
    pub(crate) const ALL: [Self; 10] = [
        Self::NoProtection,
        Self::SingleFlight,
        Self::LongLoad,
        Self::SoftExpiry,
        Self::CancelledLeader,
        Self::FailingQuery,
        Self::Invalidate,
        Self::Losers,
        Self::Spawn,
        Self::Unlock,
    ];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NoProtection => "no-protection",
            Self::SingleFlight => "single-flight",
            Self::LongLoad => "long-load",
            Self::SoftExpiry => "soft-expiry",
            Self::CancelledLeader => "cancelled-leader",
            Self::FailingQuery => "failing-query",
            Self::Invalidate => "invalidate",
            Self::Losers => "losers",
            Self::Spawn => "spawn",
            Self::Unlock => "unlock",
        }
    }

    /// Plays it.
    pub(crate) async fn play(self, stage: &Stage) -> Result<Report, StageError> {
        let mut report = match self {
            Self::NoProtection => scenes::herd::no_protection(stage).await?,
            Self::SingleFlight => scenes::herd::single_flight(stage).await?,
            Self::LongLoad => scenes::herd::long_load(stage).await?,
            Self::SoftExpiry => scenes::freshness::soft_expiry(stage).await?,
            Self::CancelledLeader => scenes::failure::cancelled_leader(stage).await?,
            Self::FailingQuery => scenes::failure::failing_query(stage).await?,
            Self::Invalidate => scenes::invalidate::invalidate(stage).await?,
            Self::Losers => scenes::losers::losers(stage).await?,
            Self::Spawn => scenes::spawn::spawn(stage).await?,
            Self::Unlock => scenes::unlock::unlock(stage).await?,
        };
        report.scene = self.name();
        if stage.backend == BackendChoice::Noop && self != Self::Unlock {
            report.switched_off();
        }
        Ok(report)
    }
}

impl Report {
    pub(crate) fn new(expected: impl Into<String>, seen: String, as_expected: bool, rows: Vec<Row>) -> Self {
        Self { scene: "", expected: expected.into(), seen, as_expected, rows }
    }

    /// With the library switched off, one thing is expected of every scene.
    fn switched_off(&mut self) {
        self.expected = "`noop:` switches the library off: a query for every caller".to_owned();
        self.seen = format!("{} queries", self.rows.iter().map(|row| row.queries).sum::<u64>());
        self.as_expected = self.rows.iter().all(|row| row.queries == row.callers as u64);
    }
}

/// `1 query`, `2 queries`.
pub(crate) fn counted<N: Copy + PartialEq + From<u8> + std::fmt::Display>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    format!("{number} {}", if number == N::from(1) { one } else { many })
}
