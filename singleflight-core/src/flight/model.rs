//! The flight table under a model checker: run with `RUSTFLAGS="--cfg shuttle" cargo test -p singleflight-core model`.

use std::any::TypeId;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use shuttle::future::{block_on, yield_now};
use shuttle::thread;

use super::{Crew, FlightId, FlightTable, Followed, Joined, Lead, Manner, Purpose, Watchdog};
use crate::sync::{Arc, Mutex, lock};

/// Makes the table remove by key alone: the mutant that this model must catch.
pub(super) static REMOVES_BY_KEY_ALONE: AtomicBool = AtomicBool::new(false);

/// A lease, so that the model can see that each is ended exactly once.
#[derive(Clone, Default)]
struct Lease(Option<StdArc<AtomicUsize>>);

impl Lease {
    fn end(self) {
        if let Some(ends) = self.0 {
            assert_eq!(ends.fetch_add(1, Ordering::SeqCst), 0, "a lease was ended twice");
        }
    }
}

#[derive(Default)]
struct Hands {
    leases: Mutex<Vec<StdArc<AtomicUsize>>>,
    watchdogs: Mutex<Vec<Watchdog<Self>>>,
}

impl Crew for Hands {
    type Stage = Lease;
    type Outcome = u32;

    fn orphaned(&self, _: &FlightId, stage: Lease) {
        stage.end();
    }

    fn deposed(&self, _: &FlightId, stage: Lease) -> Lease {
        stage.end();
        Lease::default()
    }

    fn watch(&self, watchdog: Watchdog<Self>) {
        lock(&self.watchdogs).push(watchdog);
    }
}

struct World {
    table: Arc<FlightTable<Hands>>,
    /// Bodies being run for each version of the key; an invalidate begins the next version.
    running: [AtomicUsize; 3],
    version: AtomicU64,
    now: Instant,
}

impl World {
    fn new() -> Arc<Self> {
        let now = Instant::now();
        let table = FlightTable::new(Hands::default(), now);
        Arc::new(Self { table, running: Default::default(), version: AtomicU64::new(0), now })
    }

    fn id() -> FlightId {
        let (value, identity, purpose) = (TypeId::of::<u32>(), 0, Purpose::Fill);
        FlightId { key: Arc::from("key"), value, identity, purpose }
    }

    fn manner(&self) -> Manner {
        let deadline = self.now + Duration::from_secs(60);
        Manner {
            arrived: self.now,
            now: self.now,
            deadline,
            impatient: false,
            patience: Duration::from_secs(10),
            busy: true,
        }
    }

    /// Takes a lease unless a predecessor left one.
    fn lease(&self, lead: &Lead<Hands>) -> bool {
        match lead.stage() {
            None => false,
            Some(Lease(Some(_))) => true,
            Some(Lease(None)) => {
                let ends = StdArc::new(AtomicUsize::new(0));
                lock(&self.table.crew().leases).push(ends.clone());
                let lease = Lease(Some(ends));
                let granted = lead.set_stage(lease.clone());
                if !granted {
                    lease.end();
                }
                granted
            }
        }
    }

    /// Runs a body: never two at once for one version of the key.
    async fn fill(&self, lead: Lead<Hands>, version: usize, end: End) {
        if !self.lease(&lead) {
            return;
        }
        let running = &self.running[version];
        if end != End::Deposed {
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two bodies at once");
        }
        yield_now().await;
        if end != End::Deposed {
            running.fetch_sub(1, Ordering::SeqCst);
        }
        match end {
            End::Drop => drop(lead),
            End::Answer | End::Deposed => {
                lead.seal(self.now);
                let stage = lead.stage();
                if lead.answer_sealed(1) {
                    stage.unwrap_or_default().end();
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Answer,
    Drop,
    /// As `Answer`, in a model where leaders are deposed and hence bodies overlap.
    Deposed,
}

/// A caller that insists until it has an answer or has led once.
async fn call(world: &World, end: End) {
    loop {
        let version = usize::try_from(world.version.load(Ordering::SeqCst)).unwrap();
        match world.table.join(&World::id(), world.manner()) {
            Joined::Lead(lead) => return world.fill(lead, version, end).await,
            Joined::Follow(follow) => match follow.await {
                Followed::Answer(answer) => {
                    assert_eq!(answer, 1);
                    return;
                }
                Followed::Lead(lead) => return world.fill(lead, version, end).await,
                Followed::Again => {}
                Followed::Expired | Followed::Busy => {
                    unreachable!("nobody here runs out of time or patience")
                }
            },
            Joined::Busy => unreachable!("nobody here is impatient"),
        }
    }
}

/// Joins, and gives up its seat at once or after one poll.
fn fleeting(world: &World) {
    match world.table.join(&World::id(), world.manner()) {
        Joined::Lead(lead) => drop(lead),
        Joined::Follow(follow) => {
            let mut follow = Box::pin(follow);
            let mut cx = std::task::Context::from_waker(Waker::noop());
            let polled = follow.as_mut().poll(&mut cx);
            thread::yield_now();
            drop(polled);
        }
        Joined::Busy => {}
    }
}

/// Afterwards: no flight, no seat, every lease ended once.
fn nothing_left(world: &World) {
    assert_eq!(world.table.len(), 0, "a flight is left in the table");
    for ends in lock(&world.table.crew().leases).iter() {
        assert_eq!(ends.load(Ordering::SeqCst), 1, "a lease was never ended");
    }
    for mut watchdog in lock(&world.table.crew().watchdogs).drain(..) {
        assert_eq!(watchdog.look(world.now, Waker::noop()), None, "somebody is left in a seat");
    }
}

fn check(schedules: usize, model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, schedules);
}

fn together(parts: Vec<Box<dyn FnOnce(&World) + Send>>) {
    let world = World::new();
    let threads: Vec<_> = parts
        .into_iter()
        .map(|part| {
            let world = world.clone();
            thread::spawn(move || part(&world))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    nothing_left(&world);
}

fn caller(end: End) -> Box<dyn FnOnce(&World) + Send> {
    Box::new(move |world| block_on(call(world, end)))
}

/// A write: the next version of the key begins, and nobody joins an older flight.
fn invalidate() -> Box<dyn FnOnce(&World) + Send> {
    Box::new(|world| {
        world.version.fetch_add(1, Ordering::SeqCst);
        world.table.detach("key");
    })
}

#[test]
fn model_callers_share_one_body() {
    check(20_000, || together((0..4).map(|_| caller(End::Answer)).collect()));
}

#[test]
fn model_dropped_leaders_hand_over() {
    check(30_000, || {
        together(vec![caller(End::Drop), caller(End::Drop), caller(End::Answer), caller(End::Answer)]);
    });
}

#[test]
fn model_dropped_followers_pass_the_baton_on() {
    check(30_000, || {
        together(vec![caller(End::Drop), Box::new(fleeting), Box::new(fleeting), caller(End::Answer)]);
    });
}

#[test]
fn model_invalidated_flights_are_not_joined_and_take_nobody_with_them() {
    check(30_000, invalidated);
}

fn invalidated() {
    together(vec![caller(End::Answer), caller(End::Deposed), invalidate(), caller(End::Deposed)]);
}

#[test]
fn model_panicking_bodies_answer_all() {
    check(20_000, || {
        together(vec![
            Box::new(|world| {
                let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    if let Joined::Lead(lead) = world.table.join(&World::id(), world.manner()) {
                        let _lead = lead;
                        std::panic::resume_unwind(Box::new("the body panicked"));
                    }
                }));
                drop(panicked);
            }),
            caller(End::Answer),
            caller(End::Answer),
        ]);
    });
}

#[test]
fn model_deposed_leaders_change_nothing() {
    check(30_000, || {
        let late: Box<dyn FnOnce(&World) + Send> = Box::new(|world| {
            let watchdogs: Vec<_> = lock(&world.table.crew().watchdogs).drain(..).collect();
            for mut watchdog in watchdogs {
                // Far enough on that the leader is past its patience, not so far that waiting ends.
                let _ = watchdog.look(world.now, Waker::noop());
                let _ = watchdog.look(world.now + Duration::from_secs(30), Waker::noop());
                lock(&world.table.crew().watchdogs).push(watchdog);
            }
        });
        together(vec![caller(End::Deposed), caller(End::Deposed), late, caller(End::Deposed)]);
    });
}

#[test]
fn model_catches_removal_by_key_alone() {
    REMOVES_BY_KEY_ALONE.store(true, Ordering::SeqCst);
    let caught = std::panic::catch_unwind(|| check(30_000, strict_invalidated));
    REMOVES_BY_KEY_ALONE.store(false, Ordering::SeqCst);
    assert!(caught.is_err(), "the model does not see a flight removed that is not the one meant");
    check(10_000, strict_invalidated);
}

/// An old flight that ends must leave the younger one in the table, or a third caller leads beside the second.
fn strict_invalidated() {
    let world = World::new();
    let Joined::Lead(old) = world.table.join(&World::id(), world.manner()) else {
        unreachable!("the table is empty");
    };
    world.version.fetch_add(1, Ordering::SeqCst);
    world.table.detach("key");
    let ends = {
        let world = world.clone();
        thread::spawn(move || block_on(world.fill(old, 0, End::Answer)))
    };
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let world = world.clone();
            thread::spawn(move || block_on(call(&world, End::Answer)))
        })
        .collect();
    ends.join().unwrap();
    for caller in callers {
        caller.join().unwrap();
    }
    nothing_left(&world);
}
