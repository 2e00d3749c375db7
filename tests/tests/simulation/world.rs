//! The simulated world: its source, its processes and callers, and what may never happen to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use crate::event::{Kind, Record};
use crate::ledger::Ledger;
use crate::plan::{Ends, How, Mood, Plan, Terms};

/// Shared by everything in one run.
#[derive(Debug)]
pub(crate) struct World {
    start: Instant,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) terms: Terms,
    pub(crate) mood: Mood,
    pub(crate) lossless: bool,
    /// Of the network, at most.
    pub(crate) delay: Duration,
    pub(crate) processes: Vec<Process>,
    pub(crate) keys: Vec<Source>,
    pub(crate) calls: Vec<Call>,
    pub(crate) loads: Vec<Load>,
    pub(crate) ledger: Ledger,
    pub(crate) record: Record,
    pub(crate) violation: Option<Violation>,
    /// Every oracle that failed, where a run goes on after the first.
    pub(crate) failed: std::collections::BTreeSet<&'static str>,
    pub(crate) goes_on: bool,
    queue: BTreeMap<(Duration, u64), Due>,
    queued: u64,
    /// Polls since the clock last moved.
    polls: (Duration, u32),
    pub(crate) driver: Option<Waker>,
}

type Due = Box<dyn FnOnce() + Send>;

/// An oracle that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) oracle: &'static str,
    pub(crate) text: String,
}

pub(crate) struct Process {
    pub(crate) rng: Rng,
    pub(crate) paused: bool,
    pub(crate) dead: bool,
    pub(crate) cut_until: Duration,
    /// When its last request reaches the backend: one connection keeps them in order.
    pub(crate) last_arrival: Duration,
    pub(crate) parked: Vec<Waker>,
    /// By key, the version that this process itself has invalidated up to.
    pub(crate) floors: Vec<u32>,
}

/// One key's truth.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub(crate) version: u32,
    /// Nobody who comes now may see an older version.
    pub(crate) floor: u32,
    pub(crate) invalidations: usize,
    pub(crate) last_failure: Option<Duration>,
}

pub(crate) struct Call {
    pub(crate) process: usize,
    pub(crate) key: usize,
    pub(crate) how: How,
    pub(crate) began: Duration,
    pub(crate) ended: Option<Duration>,
    pub(crate) stalled: bool,
    /// How long it was kept from being polled.
    pub(crate) polled: Duration,
    pub(crate) unpolled: Duration,
    pub(crate) floors: (u32, u32),
    pub(crate) load: Option<usize>,
    pub(crate) parked: Option<Waker>,
    pub(crate) task: Option<tokio::task::AbortHandle>,
    /// Whether the entry was there, and until when, when it began.
    pub(crate) entry_until: Option<Duration>,
}

pub(crate) struct Load {
    pub(crate) call: usize,
    pub(crate) process: usize,
    pub(crate) key: usize,
    /// Of the source, as it read it.
    pub(crate) version: u32,
    pub(crate) began: Duration,
    pub(crate) ended: Option<Duration>,
    pub(crate) gave: Option<Ends>,
    /// The token it runs under; `None` without a lease of the backend's.
    pub(crate) token: Option<u128>,
    /// Its key was invalidated in its own process since.
    pub(crate) detached: bool,
}

/// What a caller was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Value {
        version: u32,
        load: usize,
    },
    /// A load's own error.
    Load(usize),
    Flight(singleflight_core::FlightErrorKind),
    Nothing,
    Default,
    Panic,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.oracle, self.text)
    }
}

impl World {
    pub(crate) fn new(plan: &Plan, verbose: bool) -> Arc<Self> {
        let state = State {
            terms: plan.terms,
            mood: plan.mood,
            lossless: plan.loses_nothing(),
            delay: Duration::from_millis(plan.net.delay),
            processes: Vec::new(),
            keys: vec![Source { version: 1, ..Source::default() }; plan.keys],
            calls: Vec::new(),
            loads: Vec::new(),
            ledger: Ledger::new(plan.keys),
            record: Record::new(verbose),
            violation: None,
            failed: Default::default(),
            goes_on: false,
            queue: BTreeMap::new(),
            queued: 0,
            polls: (Duration::ZERO, 0),
            driver: None,
        };
        Arc::new(Self { start: Instant::now(), state: Mutex::new(state) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Duration {
        Instant::now().duration_since(self.start)
    }

    pub(crate) fn instant(&self, at: Duration) -> Instant {
        self.start + at
    }

    /// Has something done at a time; what is due at one time is done in the order in which it was queued.
    pub(crate) fn at(&self, at: Duration, due: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        state.queued += 1;
        let order = state.queued;
        state.queue.insert((at, order), Box::new(due));
        let driver = state.driver.take();
        drop(state);
        driver.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.lock().queue.keys().next().map(|(at, _)| *at)
    }

    pub(crate) fn take_due(&self) -> Option<Due> {
        let now = self.now();
        let mut state = self.lock();
        let next = state.queue.first_entry().filter(|next| next.key().0 <= now)?;
        Some(next.remove())
    }

    /// Drops what is still to be done, which holds this world.
    pub(crate) fn end(&self) {
        let queue = std::mem::take(&mut self.lock().queue);
        drop(queue);
    }

    pub(crate) fn note(&self, kind: Kind, who: usize, what: usize) {
        let now = self.now();
        self.lock().record.note(now, kind, who, what);
    }
}

impl State {
    pub(crate) fn new_process(&mut self, seed: u64) -> usize {
        let id = self.processes.len();
        self.processes.push(Process {
            rng: Rng::with_seed(seed ^ (id as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            paused: false,
            dead: false,
            cut_until: Duration::ZERO,
            last_arrival: Duration::ZERO,
            parked: Vec::new(),
            floors: vec![0; self.keys.len()],
        });
        id
    }

    pub(crate) fn violate(&mut self, oracle: &'static str, text: impl FnOnce() -> String) {
        self.failed.insert(oracle);
        if self.violation.is_none() {
            let violation = Violation { oracle, text: text() };
            if let Some(lines) = &mut self.record.lines {
                lines.push(format!("             {oracle}: {}", violation.text));
            }
            self.violation = Some(violation);
        }
    }

    /// Whether somebody goes round in circles while the clock stands still.
    pub(crate) fn spins(&mut self, now: Duration) -> bool {
        let (at, polls) = self.polls;
        self.polls = (now, if at == now { polls + 1 } else { 0 });
        if self.polls.1 > 5000 {
            self.violate("P16", || "somebody spins".to_owned());
        }
        self.polls.1 > 5000
    }

    pub(crate) fn call_begins(&mut self, now: Duration, call: usize) {
        let Call { process, key, .. } = self.calls[call];
        self.record.note(now, Kind::Call, process, call);
        let entry_until = self.ledger.entry_until(key, now);
        let floors = (self.keys[key].floor, self.processes[process].floors[key]);
        let call = &mut self.calls[call];
        (call.began, call.polled, call.floors, call.entry_until) = (now, now, floors, entry_until);
    }

    /// A body begins: reads the version, and sees who else is loading.
    pub(crate) fn load_begins(&mut self, now: Duration, call: usize) -> (usize, u32) {
        let Call { process, key, .. } = self.calls[call];
        let id = self.loads.len();
        let running: Vec<usize> = (0..id).filter(|other| self.loads[*other].ended.is_none()).collect();
        let loads = &self.loads;
        let dropped = |load: usize| loads[load].ended.is_some() && loads[load].gave.is_none();
        let token = self.ledger.take_for_load(process, key, id, dropped);
        self.record.note(now, Kind::LoadBegan, process, id);
        if token.is_none() {
            self.record.note(now, Kind::LoadUnleased, process, id);
        }
        let beside = running
            .iter()
            .filter(|other| self.in_force(now, **other, process, key))
            .copied()
            .collect::<Vec<_>>();
        // One in the place of a value, one that refreshes a stale copy or was forced, and one for all whose wait
        // budget has run out; a network that loses nothing has no use for the second kind beside the first.
        if beside.len() > 2 {
            self.violate("P19", || {
                format!("load {id} began beside loads {beside:?} of key {key} in process {process}")
            });
        }
        if self.calls[call].load.is_some() {
            self.violate("P24", || format!("call {call} ran its body twice"));
        }
        self.calls[call].load = Some(id);
        self.loads.push(Load {
            call,
            process,
            key,
            version: self.keys[key].version,
            began: now,
            ended: None,
            gave: None,
            token,
            detached: false,
        });
        (id, self.keys[key].version)
    }

    /// Whether a running load is one that nobody had reason to give up.
    fn in_force(&self, now: Duration, load: usize, process: usize, key: usize) -> bool {
        let load = &self.loads[load];
        let (lease, hold) =
            (Duration::from_millis(self.terms.lease), Duration::from_millis(self.terms.max_hold));
        let leader = &self.calls[load.call];
        load.process == process
            && load.key == key
            && !load.detached
            && load.token.is_none_or(|token| self.ledger.is_live(key, token, now))
            && now < leader.polled + lease
            && leader.unpolled < lease
            && now < load.began + hold
    }

    pub(crate) fn load_ends(&mut self, now: Duration, load: usize, gave: Option<Ends>) {
        let Load { process, key, .. } = self.loads[load];
        let kind = match gave {
            Some(Ends::Ok) => Kind::LoadOk,
            Some(Ends::Fails) => Kind::LoadFailed,
            Some(Ends::Panics) => Kind::LoadPanicked,
            Some(Ends::Unkept) => Kind::LoadUnkept,
            Some(Ends::Nothing) => Kind::LoadNothing,
            None => Kind::LoadDropped,
        };
        self.record.note(now, kind, process, load);
        if matches!(gave, Some(Ends::Fails | Ends::Panics)) {
            self.keys[key].last_failure = Some(now);
        }
        (self.loads[load].ended, self.loads[load].gave) = (Some(now), gave);
    }

    pub(crate) fn writes(&mut self, now: Duration, process: usize, key: usize) -> u32 {
        self.record.note(now, Kind::Invalidate, process, key);
        let loading = |load: &Load| load.key == key && load.ended.is_none();
        if self.loads.iter().any(loading) {
            self.record.note(now, Kind::InvalidateDuringLoad, process, key);
        }
        for load in self.loads.iter_mut().filter(|load| load.key == key && load.process == process) {
            load.detached = true;
        }
        self.keys[key].version += 1;
        self.keys[key].invalidations += 1;
        self.keys[key].version
    }

    /// An invalidate returned. Told that it failed, the process itself keeps it; the others have not heard.
    pub(crate) fn invalidated(&mut self, now: Duration, process: usize, key: usize, version: u32, ok: bool) {
        self.record.note(now, if ok { Kind::Invalidated } else { Kind::InvalidateFailed }, process, key);
        if ok {
            self.keys[key].floor = self.keys[key].floor.max(version);
        }
        self.forgotten(process, key, version);
    }

    /// An invalidate that nobody waits for has arrived.
    pub(crate) fn arrived(&mut self, key: usize, version: u32) {
        self.keys[key].floor = self.keys[key].floor.max(version);
    }

    /// A process itself is not to see an older version from now on.
    pub(crate) fn forgotten(&mut self, process: usize, key: usize, version: u32) {
        let own = &mut self.processes[process].floors[key];
        *own = (*own).max(version);
        for load in self.loads.iter_mut().filter(|load| load.key == key && load.process == process) {
            load.detached = true;
        }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}
