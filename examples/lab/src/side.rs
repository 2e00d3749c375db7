//! One side of a race, as everybody in it knows it: its setting, its time, its accounts.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::clock::RaceClock;
use crate::ledger::Ledger;
use crate::outlet::Outlet;
use crate::plan::{self, Planned};
use crate::setting::{EntryAtStart, Setting};
use crate::stats::Stats;
use crate::tell::Tell;
use crate::wire::{Answer, EntryStep, Event, How, What};

/// One side.
pub(crate) struct Side {
    pub(crate) number: usize,
    pub(crate) seed: u64,
    pub(crate) setting: Setting,
    pub(crate) calls: Vec<Planned>,
    pub(crate) clock: Arc<RaceClock>,
    outlet: Arc<Outlet>,
    ledger: Mutex<Ledger>,
    /// The source's version of each key.
    versions: Vec<AtomicU32>,
    /// Whether all is done.
    settled: watch::Sender<bool>,
    /// Whether an entry was removed.
    removed: watch::Sender<bool>,
    /// Rung when a caller comes or is answered.
    callers: watch::Sender<()>,
}

impl Side {
    pub(crate) fn new(
        number: usize,
        seed: u64,
        setting: Setting,
        clock: Arc<RaceClock>,
        outlet: Arc<Outlet>,
    ) -> Self {
        let calls = plan::calls(seed, &setting);
        let ledger = Mutex::new(Ledger::new(&calls, setting.soft_ttl_ms));
        // What is stored and stale is old as well: the row has been changed since.
        let version = if setting.entry == EntryAtStart::Stale { 2 } else { 1 };
        let versions = (0..setting.keys).map(|_| AtomicU32::new(version)).collect();
        let (settled, removed) = (watch::Sender::new(false), watch::Sender::new(false));
        let callers = watch::Sender::new(());
        Self { number, seed, setting, calls, clock, outlet, ledger, versions, settled, removed, callers }
    }

    /// Tells what happened at `t`.
    pub(crate) fn tell_at(&self, t: f64, what: &What) {
        let mut ledger = self.ledger();
        if !ledger.enter(t, what, |key| self.version(key)) {
            return;
        }
        self.send(t, what);
        match what {
            What::Entry { what: EntryStep::Removed, .. } => drop(self.removed.send_replace(true)),
            What::Arrive { .. } | What::Answer(_) => self.callers.send_replace(()),
            _ => {}
        }
        if ledger.is_settled() {
            drop(ledger);
            self.settled.send_replace(true);
        }
    }

    /// Puts a line out; under the lock of the accounts, so that lines come in the order in which they are entered.
    fn send(&self, t: f64, what: &What) {
        let event = Event { t, side: self.number, what };
        if let Ok(mut line) = serde_json::to_vec(&event) {
            line.push(b'\n');
            self.outlet.send(line);
        }
    }

    /// Tells of something that was done to this side.
    pub(crate) fn fault(&self, what: impl Into<String>, process: Option<u32>, key: Option<u32>) {
        self.tell(What::Fault { what: what.into(), process, key });
    }

    /// Answers a call that nobody else will: its caller has gone.
    pub(crate) fn drop_call(&self, call: u32) {
        let (how, value, age_ms, error) = (How::Dropped, None, None, None);
        self.tell(What::Answer(Answer { call, how, value, age_ms, error }));
    }

    /// Notes that a process is no more, and its callers with it.
    pub(crate) fn lose_process(&self, process: u32) {
        self.ledger().lose(process);
        for planned in self.unanswered(Some(process)) {
            self.drop_call(planned.call);
        }
    }

    /// Lets all callers go that are still waiting, and says why.
    pub(crate) fn let_go(&self, why: &str) {
        self.fault(why, None, None);
        for planned in self.unanswered(None) {
            self.drop_call(planned.call);
        }
    }

    /// Ends before it began.
    pub(crate) fn give_up(&self, why: &str) {
        self.let_go(why);
        self.close(Stats::default(), 0, 0);
    }

    fn unanswered(&self, process: Option<u32>) -> Vec<Planned> {
        self.ledger().unanswered(process)
    }

    pub(crate) fn lease_ms(&self, process: u32) -> u64 {
        self.ledger().lease_ms(process)
    }

    /// The source's version of a key.
    pub(crate) fn version(&self, key: u32) -> u32 {
        self.versions.get(key as usize).map_or(0, |version| version.load(Ordering::SeqCst))
    }

    /// Changes a key's row in the source; the new version.
    pub(crate) fn change(&self, key: u32) -> u32 {
        self.versions.get(key as usize).map_or(0, |version| version.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// How many processes should have had a caller of a key by now.
    pub(crate) fn processes_asked(&self, key: u32) -> u32 {
        let now = self.clock.ms();
        let came = self.calls.iter().filter(|planned| planned.key == key && planned.at <= now);
        came.map(|planned| planned.process).collect::<BTreeSet<_>>().len().try_into().unwrap_or(u32::MAX)
    }

    /// Waits until every caller of a key has come that should have by `t`, or is not to come any more.
    pub(crate) async fn came(&self, key: u32, t: f64) {
        let mut callers = self.callers.subscribe();
        while self.ledger().is_awaited(key, t) {
            let _ = callers.changed().await;
        }
    }

    /// Waits until every caller is answered and no load is under way.
    pub(crate) async fn settled(&self) {
        // The sender is `self`: it cannot have gone.
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
    }

    /// Waits until an entry has been removed.
    pub(crate) async fn removed(&self) {
        let _ = self.removed.subscribe().wait_for(|removed| *removed).await;
    }

    /// Tells what the side comes to; nothing is told of it afterwards.
    pub(crate) fn close(&self, stats: Stats, commands: u64, stats_lost: u32) {
        let mut ledger = self.ledger();
        let totals = ledger.close(stats, commands, stats_lost);
        self.send(self.clock.ms(), &What::Totals(Box::new(totals)));
    }

    /// Tells that there is nothing more to come, of any side.
    pub(crate) fn finish(&self) {
        self.send(self.clock.ms(), &What::End {});
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Tell for Side {
    fn tell(&self, what: What) {
        self.tell_at(self.clock.ms(), &what);
    }

    async fn room(&self) {
        self.outlet.room().await;
    }
}
