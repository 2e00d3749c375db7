//! What the server says to the page: one JSON document a line, as it happens.
//!
//! Times are in milliseconds since the race began. Lines of different processes are written as they come in, so that a
//! line's time may be a little before that of the line above it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Planned;
use crate::setting::Setting;
use crate::stats::Stats;

/// Something that happened on one side.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a> {
    /// When.
    pub(crate) t: f64,
    pub(crate) side: usize,
    #[serde(flatten)]
    pub(crate) what: &'a What,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum What {
    /// The first line of a side: the setting with every default filled in, and who will call when.
    Begin { setting: Box<Setting>, seed: u64, calls: Vec<Planned> },
    /// A caller calls.
    Arrive { call: u32, process: u32, key: u32 },
    /// A caller is answered; for `dropped`, its process was killed or it was made to go away.
    Answer(Answer),
    /// A load begins. `call` is the caller that leads it.
    Load { load: u32, process: u32, key: u32, call: u32 },
    /// A load ends.
    LoadEnd {
        load: u32,
        how: LoadEnd,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<u32>,
    },
    /// Something becomes of a key's lease. `process` is who did it, `grant` whose lease it is.
    Lease {
        key: u32,
        process: u32,
        grant: String,
        what: LeaseStep,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<u64>,
    },
    /// Something becomes of a key's entry. With the backend `memory` each process has one of its own.
    Entry {
        key: u32,
        process: u32,
        what: EntryStep,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        soft_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hard_ms: Option<u64>,
    },
    /// Something was done to the side, as a sentence.
    Fault {
        what: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
    },
    /// The last line of a side.
    Totals(Box<Totals>),
    /// The last line of all.
    End {},
}

/// How one caller fared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) call: u32,
    pub(crate) how: How,
    /// The version of the row it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<u32>,
    /// How long ago that row was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) age_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// How a caller was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    /// With a fresh stored value.
    Hit,
    /// With what its own load gave.
    Loaded,
    /// With what another caller of its process had loaded, or had just found.
    Followed,
    /// With what another process loaded meanwhile.
    Waited,
    Stale,
    Default,
    /// With an error.
    Failed,
    /// With what its own load gave, while the store was away.
    Degraded,
    /// Not at all.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoadEnd {
    Value,
    Error,
    /// Whoever ran it has gone.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeaseStep {
    Granted,
    Renewed,
    /// The value was stored and the lease given back, in one step.
    Published,
    /// The value was not stored: the lease is not the publisher's any more.
    Refused,
    /// Given back without a value.
    Abandoned,
    /// Not renewed: it is not the asker's any more.
    Lost,
    /// Not granted: it is someone else's.
    Held,
    /// Deleted by `process`, to which it does not belong. The teaching backend alone does so.
    Deleted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryStep {
    Stored,
    Removed,
}

/// What a side comes to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Loads that began.
    pub(crate) source_reads: u32,
    /// Of these, loads that began while another of the same key was under way.
    pub(crate) duplicate_loads: u32,
    /// The most loads of one key that were under way at once.
    pub(crate) loads_at_once: u32,
    pub(crate) dropped_loads: u32,
    pub(crate) stale_answers: u32,
    /// Answers with a row that the source had changed before they were asked for.
    pub(crate) old_answers: u32,
    /// How long past their soft TTL stale answers were.
    pub(crate) staleness_ms: Spread,
    pub(crate) latency_ms: Spread,
    /// Steps that engines asked of their backend, hits in the process's own memory apart.
    pub(crate) backend_commands: u64,
    /// Answers from someone else's load.
    pub(crate) coalesced: u32,
    pub(crate) answers: BTreeMap<How, u32>,
    /// The engines' own statistics, summed over processes.
    pub(crate) stats: Stats,
    /// Processes that were killed, and whose statistics died with them.
    pub(crate) stats_lost: u32,
}

/// Where the middle and the end of some times are; nothing where there were none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        // The smallest time that so many of a hundred do not exceed.
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Self { p50: at(50), p99: at(99), max: times.last().copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_times_that_were_there() {
        let times = (1..=200).rev().map(f64::from).collect();
        let Spread { p50, p99, max } = Spread::of(times);
        assert_eq!((p50, p99, max), (Some(100.0), Some(198.0), Some(200.0)));
        let Spread { p50, p99, max } = Spread::of(vec![7.0]);
        assert_eq!((p50, p99, max), (Some(7.0), Some(7.0), Some(7.0)));
        assert_eq!(Spread::of(Vec::new()).max, None);
    }
}
