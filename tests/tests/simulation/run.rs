//! One schedule, run from its beginning until all is quiet.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use singleflight_core::observe::Figures;
use singleflight_core::testing::{Fault, Mutant};
use singleflight_core::{
    Clock, FlightError, FlightErrorKind, LeaseBackend, MemoryBackend, Policy, SingleFlight, control,
};
use tokio::time::{sleep, sleep_until};

use crate::event::{Counts, Kind};
use crate::network::{Remote, key_name};
use crate::plan::{Ends, How, Op, Plan, What};
use crate::world::{Answer, Call, Violation, World};

/// What came of a schedule.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) violation: Option<Violation>,
    pub(crate) counts: Counts,
    pub(crate) hash: u64,
    pub(crate) lines: Vec<String>,
}

/// No call may take longer, whatever happens, while it is polled.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    version: u32,
    load: usize,
}

#[derive(Clone, Debug)]
enum Failed {
    Load(usize),
    Flight(FlightErrorKind),
}

impl From<FlightError> for Failed {
    fn from(error: FlightError) -> Self {
        Self::Flight(error.kind())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

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
struct Slots {
    plan: Plan,
    store: Arc<dyn LeaseBackend>,
    policy: Policy,
    engines: std::sync::Mutex<Vec<(usize, SingleFlight)>>,
    gone: std::sync::Mutex<Vec<SingleFlight>>,
}

impl Slots {
    fn of(&self, slot: usize) -> (usize, SingleFlight) {
        self.engines.lock().expect("no panic under this lock")[slot].clone()
    }

    fn start(&self, world: &Arc<World>) -> (usize, SingleFlight) {
        let process = world.lock().new_process(self.plan.seed);
        let remote = Remote::new(world.clone(), self.store.clone(), self.plan.net, process);
        let clock = Clock::system().seeded(self.plan.seed.wrapping_mul(31).wrapping_add(process as u64));
        (process, SingleFlight::builder().backend(Arc::new(remote)).clock(clock).build())
    }
}

impl<'a> Fleet<'a> {
    fn new(plan: &'a Plan, fault: Option<Fault>, verbose: bool) -> Self {
        let world = World::new(plan, verbose);
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
    state.violation.is_some()
}

/// Begins one operation.
fn begin(world: &Arc<World>, slots: &Arc<Slots>, op: Op) {
    let (process, engine) = slots.of(op.process);
    let now = world.now();
    match op.what {
        What::Call { key, load, ends, cancel, stall, how } => {
            let call = add_call(world, process, key, how);
            let body = call_body(world.clone(), engine, slots.policy, call, (load, ends));
            let task = tokio::spawn(Gated {
                world: world.clone(),
                process,
                call: Some(call),
                inner: Box::pin(body),
            });
            world.lock().calls[call].task = Some(task.abort_handle());
            if let Some(after) = cancel {
                let (at, of) = (now + Duration::from_millis(after), world.clone());
                world.at(at, move || cancel_call(&of, call, Kind::Cancelled, Kind::CancelledLoading));
            }
            if let Some((after, lasts)) = stall {
                stall_call(world, call, now + Duration::from_millis(after), Duration::from_millis(lasts));
            }
        }
        What::Invalidate { key } => {
            let of = world.clone();
            let body = async move {
                let version = of.lock().writes(of.now(), process, key);
                let done = engine.invalidate(key_name(key)).await;
                of.lock().invalidated(of.now(), process, key, version, done.is_ok());
            };
            tokio::spawn(Gated { world: world.clone(), process, call: None, inner: Box::pin(body) });
        }
        What::Pause { lasts } => pause(world, process, Duration::from_millis(lasts)),
        What::Crash => {
            let next = slots.start(world);
            let old = std::mem::replace(
                &mut slots.engines.lock().expect("no panic under this lock")[op.process],
                next,
            );
            slots.gone.lock().expect("no panic under this lock").push(old.1);
            crash(world, process);
        }
        What::Outage { lasts, everyone } => {
            let until = now + Duration::from_millis(lasts);
            let mut state = world.lock();
            state.record.note(now, Kind::Outage, process, usize::from(everyone));
            for (id, other) in state.processes.iter_mut().enumerate() {
                if everyone || id == process {
                    other.cut_until = other.cut_until.max(until);
                }
            }
        }
    }
}

fn add_call(world: &World, process: usize, key: usize, how: How) -> usize {
    let now = world.now();
    let mut state = world.lock();
    state.calls.push(Call {
        process,
        key,
        how,
        began: now,
        ended: None,
        stalled: false,
        polled: now,
        unpolled: Duration::ZERO,
        floors: (0, 0),
        load: None,
        parked: None,
        task: None,
        entry_until: None,
    });
    state.calls.len() - 1
}

/// One caller: calls, and has its answer looked at.
async fn call_body(world: Arc<World>, engine: SingleFlight, policy: Policy, call: usize, load: (u64, Ends)) {
    let (key, how) = {
        let mut state = world.lock();
        state.call_begins(world.now(), call);
        (state.calls[call].key, state.calls[call].how)
    };
    let body = || load_body(world.clone(), call, load);
    let flight = engine.flight(key_name(key)).policy(policy);
    let answering: Pin<Box<dyn Future<Output = Result<Row, Failed>> + Send + '_>> = match how {
        How::Plain => Box::pin(flight.run(body)),
        How::Sharing => Box::pin(flight.run_sharing(body)),
        How::Refresh => Box::pin(control::refresh(flight.run(body))),
    };
    let answer = match Caught(answering).await {
        Ok(Ok(Row { version, load })) => Answer::Value { version, load },
        Ok(Err(Failed::Load(load))) => Answer::Load(load),
        Ok(Err(Failed::Flight(kind))) => Answer::Flight(kind),
        Err(()) => Answer::Panic,
    };
    let now = world.now();
    let driver = {
        let mut state = world.lock();
        state.call_ends(now, call, answer);
        state.driver.take()
    };
    driver.into_iter().for_each(Waker::wake);
}

/// The user's body: reads the source at once and takes its time.
async fn load_body(world: Arc<World>, call: usize, (takes, ends): (u64, Ends)) -> Result<Row, Failed> {
    struct Loading(Arc<World>, usize, Option<Ends>);
    impl Drop for Loading {
        fn drop(&mut self) {
            let now = self.0.now();
            self.0.lock().load_ends(now, self.1, self.2);
        }
    }
    let (load, version) = {
        let now = world.now();
        world.lock().load_begins(now, call)
    };
    let mut loading = Loading(world, load, None);
    sleep(Duration::from_millis(takes)).await;
    loading.2 = Some(ends);
    match ends {
        Ends::Ok => Ok(Row { version, load }),
        Ends::Fails => Err(Failed::Load(load)),
        // Unlike `panic!` it does not tell the panic hook.
        Ends::Panics => std::panic::resume_unwind(Box::new("planned")),
    }
}

/// Makes a panic an answer.
struct Caught<F: ?Sized>(Pin<Box<F>>);

impl<F: Future + ?Sized> Future for Caught<F> {
    type Output = Result<F::Output, ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = std::panic::AssertUnwindSafe(|| self.0.as_mut().poll(cx));
        match std::panic::catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(())),
        }
    }
}

/// A future that is not polled while its process is stopped, or while it alone is.
struct Gated {
    world: Arc<World>,
    process: usize,
    call: Option<usize>,
    inner: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Future for Gated {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.world.now();
        let mut state = self.world.lock();
        if state.processes[self.process].paused {
            state.processes[self.process].parked.push(cx.waker().clone());
            return Poll::Pending;
        }
        if let Some(call) = self.call {
            let call = &mut state.calls[call];
            if call.stalled {
                call.parked = Some(cx.waker().clone());
                return Poll::Pending;
            }
            call.polled = now;
        }
        if state.spins(now) {
            let driver = state.driver.take();
            drop(state);
            driver.into_iter().for_each(Waker::wake);
            return Poll::Pending;
        }
        drop(state);
        self.inner.as_mut().poll(cx)
    }
}

fn cancel_call(world: &World, call: usize, plain: Kind, loading: Kind) {
    let now = world.now();
    let mut state = world.lock();
    if state.calls[call].ended.is_some() {
        return;
    }
    state.calls[call].ended = Some(now);
    let process = state.calls[call].process;
    let runs = state.calls[call].load.is_some_and(|load| state.loads[load].ended.is_none());
    state.record.note(now, if runs { loading } else { plain }, process, call);
    let task = state.calls[call].task.take();
    drop(state);
    task.into_iter().for_each(|task| task.abort());
}

fn stall_call(world: &Arc<World>, call: usize, at: Duration, lasts: Duration) {
    let of = world.clone();
    world.at(at, move || {
        let mut state = of.lock();
        if state.calls[call].ended.is_none() {
            state.calls[call].stalled = true;
            let process = state.calls[call].process;
            state.record.note(at, Kind::Stalled, process, call);
        }
    });
    let of = world.clone();
    world.at(at + lasts, move || {
        let mut state = of.lock();
        state.calls[call].stalled = false;
        state.calls[call].unpolled += lasts;
        let parked = state.calls[call].parked.take();
        drop(state);
        parked.into_iter().for_each(Waker::wake);
    });
}

fn pause(world: &Arc<World>, process: usize, lasts: Duration) {
    let now = world.now();
    let mut state = world.lock();
    let lease = Duration::from_millis(state.terms.lease);
    let loads = state
        .loads
        .iter()
        .any(|load| load.process == process && load.ended.is_none() && load.token.is_some());
    let kind = if loads && lasts > lease { Kind::PausedPastLease } else { Kind::Paused };
    state.record.note(now, kind, process, 0);
    state.processes[process].paused = true;
    drop(state);
    let of = world.clone();
    world.at(now + lasts, move || {
        let mut state = of.lock();
        state.processes[process].paused = false;
        for call in state.calls.iter_mut().filter(|call| call.process == process && call.ended.is_none()) {
            call.unpolled += lasts;
        }
        let parked = std::mem::take(&mut state.processes[process].parked);
        drop(state);
        parked.into_iter().for_each(Waker::wake);
    });
}

fn crash(world: &World, process: usize) {
    let now = world.now();
    let mut state = world.lock();
    state.processes[process].dead = true;
    let loads = state.loads.iter().any(|load| load.process == process && load.ended.is_none());
    state.record.note(now, if loads { Kind::CrashedLoading } else { Kind::Crashed }, process, 0);
    let calls: Vec<usize> =
        (0..state.calls.len()).filter(|call| state.calls[*call].process == process).collect();
    drop(state);
    for call in calls {
        cancel_call(world, call, Kind::Cancelled, Kind::CancelledLoading);
    }
}
