//! What a side comes to, counted as it is told.

use std::collections::BTreeMap;

use crate::plan::Planned;
use crate::stats::Stats;
use crate::wire::{Answer, How, LoadEnd, Spread, Totals, What};

/// The accounts of one side.
#[derive(Debug)]
pub(crate) struct Ledger {
    calls: Vec<Account>,
    /// Calls that are answered.
    answered: usize,
    soft_ms: f64,
    /// Loads under way, by key.
    under_way: BTreeMap<u32, u32>,
    /// The keys of loads under way.
    loads: BTreeMap<u32, u32>,
    latencies: Vec<f64>,
    staleness: Vec<f64>,
    /// The lease TTL that each process was granted last.
    lease_ms: BTreeMap<u32, u64>,
    totals: Totals,
    /// The processes that are no more: what is still heard of them is not told.
    gone: Vec<u32>,
    closed: bool,
}

/// What is known of one call.
#[derive(Debug)]
struct Account {
    planned: Planned,
    arrived: Option<f64>,
    /// The source's version when it came.
    version: u32,
    answered: bool,
}

impl Ledger {
    pub(crate) fn new(calls: &[Planned], soft_ms: u32) -> Self {
        let account =
            |planned: &Planned| Account { planned: *planned, arrived: None, version: 0, answered: false };
        Self {
            calls: calls.iter().map(account).collect(),
            answered: 0,
            soft_ms: f64::from(soft_ms),
            under_way: BTreeMap::new(),
            loads: BTreeMap::new(),
            latencies: Vec::new(),
            staleness: Vec::new(),
            lease_ms: BTreeMap::new(),
            totals: Totals::default(),
            gone: Vec::new(),
            closed: false,
        }
    }

    /// Enters what happened at `t`; `false` if it is not to be told. `version` gives the source's version of a key.
    pub(crate) fn enter(&mut self, t: f64, what: &What, version: impl Fn(u32) -> u32) -> bool {
        if self.closed {
            return false;
        }
        match what {
            What::Arrive { call, process, key } => {
                if self.gone.contains(process) {
                    return false;
                }
                let Some(account) = self.calls.get_mut(*call as usize) else { return false };
                account.version = version(*key);
                account.arrived.replace(t).is_none()
            }
            What::Answer(answer) => self.answer(t, answer),
            What::Load { load, process, key, .. } => {
                if self.gone.contains(process) {
                    return false;
                }
                let under_way = self.under_way.entry(*key).or_default();
                *under_way += 1;
                self.totals.source_reads += 1;
                self.totals.duplicate_loads += u32::from(*under_way > 1);
                self.totals.loads_at_once = self.totals.loads_at_once.max(*under_way);
                self.loads.insert(*load, *key);
                true
            }
            What::LoadEnd { load, how, .. } => {
                let Some(key) = self.loads.remove(load) else { return false };
                if let Some(under_way) = self.under_way.get_mut(&key) {
                    *under_way -= 1;
                }
                self.totals.dropped_loads += u32::from(*how == LoadEnd::Dropped);
                true
            }
            What::Lease { process, ttl_ms, what, .. } => {
                if let (crate::wire::LeaseStep::Granted, Some(ttl)) = (what, ttl_ms) {
                    self.lease_ms.insert(*process, *ttl);
                }
                !self.gone.contains(process)
            }
            What::Entry { process, .. } => !self.gone.contains(process),
            What::Begin { .. } | What::Fault { .. } | What::Totals(_) | What::End {} => true,
        }
    }

    fn answer(&mut self, t: f64, answer: &Answer) -> bool {
        let Some(account) = self.calls.get_mut(answer.call as usize) else { return false };
        if account.answered {
            return false;
        }
        account.answered = true;
        self.answered += 1;
        *self.totals.answers.entry(answer.how).or_default() += 1;
        match answer.how {
            How::Stale => {
                self.totals.stale_answers += 1;
                self.staleness.extend(answer.age_ms.map(|age| (age - self.soft_ms).max(0.0)));
            }
            How::Followed | How::Waited => self.totals.coalesced += 1,
            _ => {}
        }
        self.totals.old_answers += u32::from(answer.value.is_some_and(|value| value < account.version));
        if answer.how != How::Dropped {
            // To the microsecond, as times are told.
            let took = |arrived: f64| ((t - arrived) * 1e3).round() / 1e3;
            self.latencies.extend(account.arrived.map(took));
        }
        true
    }

    /// Calls that are not answered, of one process or of all.
    pub(crate) fn unanswered(&self, process: Option<u32>) -> Vec<Planned> {
        let calls = self.calls.iter().filter(|account| !account.answered).map(|account| account.planned);
        calls.filter(|planned| process.is_none_or(|process| planned.process == process)).collect()
    }

    /// Whether some caller of a key has not come that should have by `t`.
    pub(crate) fn is_awaited(&self, key: u32, t: f64) -> bool {
        self.calls.iter().any(|account| {
            let Planned { key: of, at, .. } = account.planned;
            of == key && at <= t && account.arrived.is_none() && !account.answered
        })
    }

    /// Notes that a process is no more.
    pub(crate) fn lose(&mut self, process: u32) {
        self.gone.push(process);
    }

    /// The lease TTL that a process was granted last.
    pub(crate) fn lease_ms(&self, process: u32) -> u64 {
        self.lease_ms.get(&process).copied().unwrap_or_default()
    }

    /// Whether every caller is answered and no load is under way.
    pub(crate) fn is_settled(&self) -> bool {
        self.answered == self.calls.len() && self.loads.is_empty()
    }

    /// Ends the accounts: nothing is entered any more.
    pub(crate) fn close(&mut self, stats: Stats, commands: u64, stats_lost: u32) -> Totals {
        self.closed = true;
        let mut totals = std::mem::take(&mut self.totals);
        totals.latency_ms = Spread::of(std::mem::take(&mut self.latencies));
        totals.staleness_ms = Spread::of(std::mem::take(&mut self.staleness));
        totals.backend_commands = commands;
        (totals.stats, totals.stats_lost) = (stats, stats_lost);
        totals
    }
}
