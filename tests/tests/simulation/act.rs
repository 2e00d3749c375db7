//! The operations of a schedule.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use singleflight_core::SingleFlight;
use singleflight_core::link::Link;

use crate::caller::{call_body, dropped_write};
use crate::event::Kind;
use crate::network::key_name;
use crate::plan::{How, Op, What};
use crate::run::Slots;
use crate::world::{Call, World};

/// Begins one operation.
pub(crate) fn begin(world: &Arc<World>, slots: &Arc<Slots>, op: Op) {
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
        What::Invalidate { key, dropped } => {
            let of = world.clone();
            let body = async move {
                let version = of.lock().writes(of.now(), process, key);
                if dropped {
                    return drop_write(&of, &engine, process, key, version);
                }
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

/// A write whose future is dropped after it has written. What the engine is told then goes to the backend without a
/// guarantee, or is kept until the backend is back.
fn drop_write(world: &World, engine: &SingleFlight, process: usize, key: usize, version: u32) {
    let mut write = Box::pin(dropped_write(engine, key));
    let pending = write.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    assert!(pending, "it never ends");
    let keeps = !engine.backend().link().is_some_and(Link::is_up);
    drop(write);
    world.note(Kind::InvalidatePosted, process, key);
    if keeps {
        world.lock().forgotten(process, key, version);
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
