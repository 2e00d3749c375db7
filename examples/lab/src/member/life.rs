//! What a member does, be it a thread or a process.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use singleflight_core::control::{self, CallOutcome};
use singleflight_core::{Codec, LeaseBackend, NoopBackend, SingleFlight};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Last, MemberError, Order, Spec};
use crate::clock::RaceClock;
use crate::items::{FUNCTIONS, ItemError, Items, Reads, Row};
use crate::plan::Planned;
use crate::seed::seed;
use crate::setting::Fault;
use crate::tell::Tell;
use crate::watched::{Watched, Way};
use crate::wire::{Answer, How, What};

/// A member that is set up.
pub(crate) struct Life {
    spec: Spec,
    clock: Arc<RaceClock>,
    tell: Arc<dyn Tell>,
    flights: SingleFlight,
    items: Items,
    way: Arc<Way>,
    calls: HashMap<u32, Running>,
}

/// A call under way.
struct Running {
    task: AbortHandle,
    hold: Arc<Hold>,
}

/// What a member lives in.
pub(crate) struct World {
    pub(crate) clock: Arc<RaceClock>,
    pub(crate) tell: Arc<dyn Tell>,
    pub(crate) source: Arc<dyn Reads>,
    /// Where values and leases live; `None` keeps none.
    pub(crate) store: Option<Arc<dyn LeaseBackend>>,
    pub(crate) way: Arc<Way>,
}

impl Life {
    /// Sets a member up, and stores what is to be there at the start.
    pub(crate) async fn set_up(spec: Spec, world: World) -> Result<Self, MemberError> {
        let World { clock, tell, source, store, way } = world;
        if let (true, Some(store)) = (spec.seeds, &store) {
            seed(&spec, store).await.map_err(MemberError::new)?;
        }
        let store = store.unwrap_or_else(|| Arc::new(NoopBackend));
        let renews = spec.setting.fault != Fault::NoRenewal;
        let store = Watched::new(store, spec.process, tell.clone(), way.clone()).renewing(renews);
        let store = Arc::new(store);
        let flights = engine(&spec, store.clone())?;
        let items = Items { source, process: spec.process, store };
        Ok(Self { spec, clock, tell, flights, items, way, calls: HashMap::new() })
    }

    /// Does as it is told until it is to end. `stand` stands still until that is over.
    pub(crate) async fn live(
        mut self,
        orders: &mut mpsc::UnboundedReceiver<Order>,
        mut stand: impl FnMut(),
    ) -> Last {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Go(zero) => {
                    self.clock.begin(zero);
                    for planned in std::mem::take(&mut self.spec.calls) {
                        self.send(planned);
                    }
                }
                Order::Drop(call) => drop(self.calls.get(&call).map(|running| running.task.abort())),
                Order::Hold(call) => self.hold(call, true),
                Order::Release(call) => self.hold(call, false),
                Order::Invalidate(key) => {
                    let flights = self.flights.clone();
                    let task = async move { flights.invalidate(&format!("item:{key}")).await };
                    tokio::spawn(task);
                }
                Order::Stand => stand(),
                Order::Finish => {
                    self.land(orders).await;
                    break;
                }
                Order::Stop => break,
            }
        }
        let stats = (&self.flights.statistics().total).into();
        Last { stats, commands: self.way.commands() }
    }

    /// Waits until nothing is being loaded: a task may still be at it when all callers have their answers.
    async fn land(&self, orders: &mut mpsc::UnboundedReceiver<Order>) {
        let landed = async {
            while self.flights.in_progress() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            () = landed => {}
            _ = orders.recv() => {}
        }
    }

    fn hold(&self, call: u32, held: bool) {
        if let Some(running) = self.calls.get(&call) {
            running.hold.set(held);
        }
    }

    /// Sends a caller, a task of its own.
    fn send(&mut self, planned: Planned) {
        let caller = Caller {
            planned,
            clock: self.clock.clone(),
            tell: self.tell.clone(),
            flights: self.flights.clone(),
            items: self.items.clone(),
            spawned: self.spec.setting.spawn,
        };
        let hold = Arc::new(Hold::default());
        let held = hold.clone();
        let task = tokio::spawn(async move {
            let mut call = pin!(caller.call());
            Holdable { call: call.as_mut(), hold: held }.await;
        });
        self.calls.insert(planned.call, Running { task: task.abort_handle(), hold });
    }
}

/// The engine of a member.
pub(crate) fn engine(spec: &Spec, store: Arc<dyn LeaseBackend>) -> Result<SingleFlight, MemberError> {
    let builder = SingleFlight::builder().backend(store).namespace(&spec.namespace);
    // What is told of values is read from the bytes, and TTLs are shown as they were set.
    let flights = builder.codec(Codec::Json).jitter(false).build();
    for function in FUNCTIONS {
        flights.override_policy(function, spec.setting.policy()).map_err(MemberError::new)?;
    }
    Ok(flights)
}

/// One caller.
struct Caller {
    planned: Planned,
    clock: Arc<RaceClock>,
    tell: Arc<dyn Tell>,
    flights: SingleFlight,
    items: Items,
    spawned: bool,
}

impl Caller {
    async fn call(self) {
        let Planned { call, process, key, at } = self.planned;
        tokio::time::sleep_until(self.clock.moment(at).into()).await;
        self.tell.room().await;
        let arrived = self.clock.ms();
        self.tell.tell(What::Arrive { call, process, key });
        let found = async {
            if self.spawned {
                self.items.find_spawned(key, call).await
            } else {
                self.items.find(key, call).await
            }
        };
        let (found, outcomes) = control::outcome(self.flights.scope(found)).await;
        self.tell.tell(What::Answer(self.answer(arrived, &found, outcomes.last().copied())));
    }

    fn answer(&self, arrived: f64, found: &Result<Row, ItemError>, outcome: Option<CallOutcome>) -> Answer {
        let call = self.planned.call;
        let row = match found {
            Ok(row) => row,
            Err(error) => {
                let error = Some(error.to_string());
                return Answer { call, how: How::Failed, value: None, age_ms: None, error };
            }
        };
        let how = match outcome {
            Some(CallOutcome::Hit) => How::Hit,
            Some(CallOutcome::Stale) => How::Stale,
            Some(CallOutcome::Default) => How::Default,
            // Another process's, unless it was there when the caller came: then the process just looked once for many.
            Some(CallOutcome::Coalesced) if row.process != self.planned.process && row.at > arrived => {
                How::Waited
            }
            Some(CallOutcome::Coalesced) => How::Followed,
            _ if row.degraded => How::Degraded,
            _ => How::Loaded,
        };
        if how == How::Default {
            return Answer { call, how, value: None, age_ms: None, error: None };
        }
        let age = ((self.clock.ms() - row.at).max(0.0) * 1e3).round() / 1e3;
        Answer { call, how, value: Some(row.version), age_ms: Some(age), error: None }
    }
}

/// Whether a call is polled.
#[derive(Debug, Default)]
struct Hold(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    held: bool,
    waker: Option<Waker>,
}

impl Hold {
    fn set(&self, held: bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.held = held;
        let waker = state.waker.take().filter(|_| !held);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether it is held; whoever asks is woken when it is not any more.
    fn is_held(&self, waker: &Waker) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waker = Some(waker.clone());
        state.held
    }
}

/// A call that is not polled while it is held.
struct Holdable<'a, F> {
    call: Pin<&'a mut F>,
    hold: Arc<Hold>,
}

impl<F: Future<Output = ()>> Future for Holdable<'_, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.hold.is_held(cx.waker()) { Poll::Pending } else { self.call.as_mut().poll(cx) }
    }
}
