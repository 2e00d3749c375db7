//! One schedule, run from its beginning until all is quiet.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use singleflight_core::observe::Figures;
use singleflight_core::testing::{Fault, Mutant};
use singleflight_core::{Clock, LeaseBackend, MemoryBackend, Policy, SingleFlight};
use tokio::time::sleep_until;

use crate::act::begin;
use crate::event::{Counts, Kind};
use crate::network::Remote;
use crate::plan::Plan;
use crate::world::{Call, Violation, World};

/// What came of a schedule.
#[derive(Debug)]
pub(crate) struct Run {
    /// The first.
    pub(crate) violation: Option<Violation>,
    /// All oracles that failed: one, but for backends with a fault, whose runs go on to the end.
    pub(crate) failed: Vec<&'static str>,
    pub(crate) counts: Counts,
    pub(crate) hash: u64,
    pub(crate) lines: Vec<String>,
}

/// No call may take longer, whatever happens, while it is polled.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs a schedule, on a backend with a fault if one is named.
pub(crate) fn run(plan: &Plan, fault: Option<Fault>, verbose: bool) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without threads and sockets");
    runtime.block_on(async {
        let fleet = Fleet::new(plan, fault, verbose);
        fleet.fly().await
    })
}

/// All processes of a run.
struct Fleet<'a> {
    plan: &'a Plan,
    world: Arc<World>,
    slots: Arc<Slots>,
}

/// What takes the place of a process that crashed comes here.
pub(crate) struct Slots {
    plan: Plan,
    store: Arc<dyn LeaseBackend>,
    pub(crate) policy: Policy,
    pub(crate) engines: std::sync::Mutex<Vec<(usize, SingleFlight)>>,
    pub(crate) gone: std::sync::Mutex<Vec<SingleFlight>>,
}

impl Slots {
    pub(crate) fn of(&self, slot: usize) -> (usize, SingleFlight) {
        self.engines.lock().expect("no panic under this lock")[slot].clone()
    }

    pub(crate) fn start(&self, world: &Arc<World>) -> (usize, SingleFlight) {
        let process = world.lock().new_process(self.plan.seed);
        let remote = Remote::new(world.clone(), self.store.clone(), self.plan.net, process);
        let clock = Clock::system().seeded(self.plan.seed.wrapping_mul(31).wrapping_add(process as u64));
        let engine = SingleFlight::builder().backend(Arc::new(remote)).clock(clock).build();
        engine.override_policy("row", self.policy).expect("schedules have sound policies");
        (process, engine)
    }
}

impl<'a> Fleet<'a> {
    fn new(plan: &'a Plan, fault: Option<Fault>, verbose: bool) -> Self {
        let world = World::new(plan, verbose);
        world.lock().goes_on = fault.is_some();
        let store: Arc<dyn LeaseBackend> = match fault {
            Some(fault) => Arc::new(Mutant::new(fault, Clock::system())),
            None => Arc::new(MemoryBackend::new()),
        };
        let slots = Slots {
            plan: plan.clone(),
            store,
            policy: plan.terms.policy(),
            engines: Default::default(),
            gone: Default::default(),
        };
        let engines = (0..plan.processes).map(|_| slots.start(&world)).collect();
        *slots.engines.lock().expect("no panic under this lock") = engines;
        Self { plan, world, slots: Arc::new(slots) }
    }

    async fn fly(self) -> Run {
        for op in &self.plan.ops {
            let (world, slots, op) = (self.world.clone(), self.slots.clone(), *op);
            self.world.at(Duration::from_millis(op.at), move || begin(&world, &slots, op));
        }
        self.drive(None).await;
        // Everything on its way arrives, and every lease that nobody gave back has ended.
        let settled = self.world.now() + Duration::from_millis(self.settling());
        self.world.at(settled, || {});
        self.drive(Some(settled)).await;
        self.judge()
    }

    fn settling(&self) -> u64 {
        let Plan { terms, net, .. } = self.plan;
        if self.plan.loses_nothing() {
            // Nobody needs to wait for a TTL here: every exit frees the lease.
            return 4 * net.delay + 5;
        }
        terms.lease + 8 * net.timeout + 4 * net.delay
    }

    /// Does what is due until nothing is and all calls are over, or until a given time.
    async fn drive(&self, until: Option<Duration>) {
        let world = &self.world;
        let mut timer: Option<(Duration, Pin<Box<tokio::time::Sleep>>)> = None;
        std::future::poll_fn(move |cx| {
            while let Some(due) = world.take_due() {
                due();
            }
            let now = world.now();
            let next = world.next_due();
            let hung = {
                let mut state = world.lock();
                state.driver = Some(cx.waker().clone());
                let open = state.calls.iter().filter(|call| call.ended.is_none()).count();
                if open == 0 && next.is_none() || until.is_some_and(|until| now >= until) {
                    return Poll::Ready(());
                }
                now + LONGEST
            };
            if state_is_over(world, now) {
                return Poll::Ready(());
            }
            let at = next.unwrap_or(hung).min(hung);
            timer.take_if(|(of, _)| *of != at);
            let (_, sleep) = timer.get_or_insert_with(|| (at, Box::pin(sleep_until(world.instant(at)))));
            if sleep.as_mut().poll(cx).is_ready() {
                timer = None;
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await;
    }

    fn judge(self) -> Run {
        let (now, mut left) = (self.world.now(), 0);
        let mut figures = Figures::default();
        let engines = std::mem::take(&mut *self.slots.engines.lock().expect("no panic under this lock"));
        for (_, engine) in &engines {
            left += engine.in_progress();
            figures.add(&engine.statistics().total);
        }
        let gone = std::mem::take(&mut *self.slots.gone.lock().expect("no panic under this lock"));
        gone.iter().for_each(|engine| figures.add(&engine.statistics().total));
        let mut state = self.world.lock();
        state.when_quiet(now);
        if left > 0 {
            state.violate("P23", || format!("{left} flights are left"));
        }
        let mut counts = state.record.counts.clone();
        for (kind, n) in [
            (Kind::StaleAnswers, figures.stale),
            (Kind::Follows, figures.follows),
            (Kind::Waits, figures.waits),
            (Kind::WaitBudgets, figures.timeouts),
            (Kind::Takeovers, figures.takeovers),
            (Kind::Fenced, figures.fenced),
            (Kind::Duplicates, figures.duplicate_loads),
            (Kind::Shared, figures.failures_shared),
            (Kind::CoolingAnswers, figures.cooldown_answers),
            (Kind::Renewals, figures.renewals),
        ] {
            counts.add(kind, n);
        }
        let run = Run {
            violation: state.violation.take(),
            failed: std::mem::take(&mut state.failed).into_iter().collect(),
            counts,
            hash: state.record.hash,
            lines: state.record.lines.take().unwrap_or_default(),
        };
        drop(state);
        self.world.end();
        run
    }
}

/// Whether some call hangs, or another oracle has failed already.
fn state_is_over(world: &World, now: Duration) -> bool {
    let mut state = world.lock();
    let late =
        |call: &Call| call.ended.is_none() && !call.stalled && now > call.began + call.unpolled + LONGEST;
    if let Some(call) = state.calls.iter().position(late) {
        state.violate("P16", || format!("call {call} hangs"));
    }
    state.failed.contains("P16") || state.violation.is_some() && !state.goes_on
}
