//! The scenes of a fleet by name, and what is told of one.

use clap::ValueEnum;
use serde::Serialize;

use super::row::Row;
use super::{FleetError, Stage, scenes};

/// Something that happens to a hot key in a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetScene {
    /// All processes miss at once
    SingleFlight,
    /// The query fails
    FailingQuery,
    /// The leading process is killed
    LeaderKilled,
    /// The leading process stands still for longer than its lease
    LeaderPaused,
}

/// What is told of a scene.
#[derive(Debug, Serialize)]
pub(crate) struct FleetReport {
    pub(crate) scene: &'static str,
    pub(crate) expected: String,
    pub(crate) seen: String,
    pub(crate) as_expected: bool,
    pub(crate) row: Row,
}

impl FleetScene {
    pub(crate) const ALL: [Self; 4] =
        [Self::SingleFlight, Self::FailingQuery, Self::LeaderKilled, Self::LeaderPaused];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SingleFlight => "single-flight",
            Self::FailingQuery => "failing-query",
            Self::LeaderKilled => "leader-killed",
            Self::LeaderPaused => "leader-paused",
        }
    }

    /// Whether there is a leader of several processes in it, and so something that they share.
    pub(crate) const fn needs_server(self) -> bool {
        matches!(self, Self::LeaderKilled | Self::LeaderPaused)
    }

    /// Plays it.
    pub(crate) async fn play(self, stage: &mut Stage) -> Result<FleetReport, FleetError> {
        let mut report = match self {
            Self::SingleFlight => scenes::herd::single_flight(stage).await?,
            Self::FailingQuery => scenes::herd::failing_query(stage).await?,
            Self::LeaderKilled => scenes::leader::killed(stage).await?,
            Self::LeaderPaused => scenes::leader::paused(stage).await?,
        };
        report.scene = self.name();
        Ok(report)
    }
}

impl FleetReport {
    pub(crate) fn new(expected: impl Into<String>, seen: String, as_expected: bool, row: Row) -> Self {
        Self { scene: "", expected: expected.into(), seen, as_expected, row }
    }
}
