//! The flight table step by step; every interleaving is the model's business.

use std::any::TypeId;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::*;
use crate::sync::lock;

#[derive(Default)]
struct Hands {
    orphans: Mutex<Vec<u32>>,
    watchdogs: Mutex<Vec<Watchdog<Self>>>,
}

impl Crew for Hands {
    type Stage = u32;
    type Outcome = &'static str;

    fn orphaned(&self, _: &FlightId, stage: u32) {
        lock(&self.orphans).push(stage);
    }

    fn deposed(&self, id: &FlightId, stage: u32) -> u32 {
        self.orphaned(id, stage);
        0
    }

    fn watch(&self, watchdog: Watchdog<Self>) {
        lock(&self.watchdogs).push(watchdog);
    }
}

struct World {
    table: Arc<FlightTable<Hands>>,
    start: Instant,
}

impl World {
    fn new() -> Self {
        let origin = Instant::now();
        Self { table: FlightTable::new(Hands::default(), origin), start: origin + Duration::from_secs(1) }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.start + Duration::from_secs(seconds)
    }

    fn join_as(&self, deadline: u64, impatient: bool, busy: bool) -> Joined<Hands> {
        let patience = Duration::from_secs(5);
        self.table.join(
            &id(1),
            Manner {
                arrived: self.at(0),
                now: self.at(0),
                deadline: self.at(deadline),
                impatient,
                patience,
                busy,
            },
        )
    }

    fn lead(&self) -> Lead<Hands> {
        let Joined::Lead(lead) = self.join_as(100, false, true) else { panic!("someone leads already") };
        lead.beat(self.start);
        lead
    }

    fn follow(&self, deadline: u64) -> Follow<Hands> {
        let Joined::Follow(follow) = self.join_as(deadline, false, true) else { panic!("nobody leads") };
        follow
    }

    fn look(&self, seconds: u64) -> Option<Instant> {
        let mut watchdogs = lock(&self.table.crew().watchdogs);
        assert_eq!(watchdogs.len(), 1, "one timer per flight");
        watchdogs[0].look(self.at(seconds), Waker::noop())
    }

    fn orphans(&self) -> Vec<u32> {
        lock(&self.table.crew().orphans).clone()
    }
}

fn id(identity: u32) -> FlightId {
    FlightId { key: "k".into(), value: TypeId::of::<()>(), identity, purpose: Purpose::Fill }
}

fn poll(follow: &mut Follow<Hands>) -> Option<Followed<Hands>> {
    match Pin::new(follow).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(followed) => Some(followed),
        Poll::Pending => None,
    }
}

#[test]
fn p14_followers_get_the_leaders_answer() {
    let world = World::new();
    let lead = world.lead();
    let mut follow = world.follow(100);
    assert!(poll(&mut follow).is_none());
    assert!(lead.answer("yes"));
    assert!(matches!(poll(&mut follow), Some(Followed::Answer("yes"))));
    assert_eq!(world.table.len(), 0);
}

#[test]
fn p05_answers_of_the_store_are_for_those_who_came_before_the_question() {
    let world = World::new();
    let lead = world.lead();
    let mut before = world.follow(100);
    lead.seal(world.start);
    let mut after = world.follow(100);
    lead.answer_sealed("yes");
    assert!(matches!(poll(&mut before), Some(Followed::Answer("yes"))));
    assert!(matches!(poll(&mut after), Some(Followed::Again)));
}

#[test]
fn p06_nobody_joins_a_detached_flight_and_its_end_leaves_the_younger_one() {
    let world = World::new();
    let old = world.lead();
    let mut waiting = world.follow(100);
    world.table.detach("k");
    let _young = world.lead();
    old.answer("old");
    assert!(matches!(poll(&mut waiting), Some(Followed::Answer("old"))));
    assert_eq!(world.table.len(), 1);
    assert!(matches!(world.join_as(100, false, true), Joined::Follow(_)));
}

#[test]
fn p16_a_dropped_leader_leaves_its_stage_to_one_follower() {
    let world = World::new();
    let lead = world.lead();
    lead.set_stage(7);
    let (mut first, mut second) = (world.follow(100), world.follow(100));
    drop(lead);
    let Some(Followed::Lead(lead)) = poll(&mut first) else { panic!("the first follower leads") };
    assert!(poll(&mut second).is_none());
    assert_eq!(lead.stage(), Some(7));
    drop(lead);
    assert!(matches!(poll(&mut second), Some(Followed::Lead(_))), "and when it goes, the next");
    assert_eq!(world.orphans(), [7], "with nobody left the crew gets the stage");
    assert_eq!(world.table.len(), 0);
}

#[test]
fn p16_a_follower_dropped_with_the_baton_passes_it_on() {
    let world = World::new();
    let lead = world.lead();
    let (first, mut second) = (world.follow(100), world.follow(100));
    drop(lead);
    drop(first);
    assert!(matches!(poll(&mut second), Some(Followed::Lead(_))));
}

#[test]
fn p12_a_leader_not_heard_of_is_deposed_and_so_is_a_successor_that_is_never_polled() {
    let world = World::new();
    let lead = world.lead();
    lead.set_stage(7);
    let (mut parked, mut third) = (world.follow(100), world.follow(100));
    assert_eq!(world.look(4), Some(world.at(5)));
    assert_eq!(world.look(5), Some(world.at(10)), "the successor has as long");
    assert_eq!(world.orphans(), [7], "its lease is not handed on: it may still wake up and use it");
    assert_eq!(world.look(10), None, "nobody waits any more");
    assert!(matches!(poll(&mut third), Some(Followed::Lead(_))));
    assert!(matches!(poll(&mut parked), Some(Followed::Again)), "too late");
    assert!(!lead.answer("late"), "a deposed leader ends nothing");
}

#[test]
fn p12_a_leader_that_is_polled_is_not_deposed_before_its_reign_ends() {
    let world = World::new();
    let lead = world.lead();
    lead.set_terms(Duration::from_secs(5), Some(world.at(12)));
    let mut follow = world.follow(100);
    lead.beat(world.at(4));
    assert_eq!(world.look(8), Some(world.at(9)));
    lead.beat(world.at(9));
    assert_eq!(world.look(9), Some(world.at(12)));
    assert!(poll(&mut follow).is_none());
    world.look(12);
    assert!(matches!(poll(&mut follow), Some(Followed::Lead(_))));
}

#[test]
fn p19_each_budget_ends_by_itself_in_any_order() {
    let world = World::new();
    let lead = world.lead();
    let (mut long, mut short) = (world.follow(90), world.follow(3));
    assert_eq!(world.look(0), Some(world.at(3)));
    world.look(3);
    assert!(matches!(poll(&mut short), Some(Followed::Expired)));
    assert!(poll(&mut long).is_none());
    lead.beat(world.at(3));
    assert_eq!(world.look(3), Some(world.at(8)));
}

#[test]
fn the_impatient_leave_when_the_fill_is_on() {
    let world = World::new();
    let Joined::Lead(lead) = world.join_as(100, false, false) else { panic!("someone leads already") };
    let Joined::Follow(mut impatient) = world.join_as(100, true, false) else { panic!("it may be a hit") };
    let mut patient = world.follow(100);
    assert!(poll(&mut impatient).is_none());
    lead.set_busy(true);
    assert!(matches!(poll(&mut impatient), Some(Followed::Busy)));
    assert!(poll(&mut patient).is_none());
    assert!(matches!(world.join_as(100, true, false), Joined::Busy));
}

#[test]
fn functions_that_share_a_key_do_not_share_a_flight() {
    let world = World::new();
    let _one = world.lead();
    let manner = Manner {
        arrived: world.at(0),
        now: world.at(0),
        deadline: world.at(1),
        impatient: false,
        patience: Duration::MAX,
        busy: true,
    };
    let Joined::Lead(two) = world.table.join(&id(2), manner) else {
        panic!("another identity, another flight")
    };
    assert_eq!(world.table.len(), 2);
    two.dismiss();
    assert_eq!(world.table.len(), 1);
}

#[test]
fn p21_a_circle_of_waiting_fills_is_found_by_the_one_that_closes_it() {
    let world = World::new();
    let flight = |identity| {
        let manner = Manner {
            arrived: world.at(0),
            now: world.at(0),
            deadline: world.at(1),
            impatient: false,
            patience: Duration::MAX,
            busy: true,
        };
        let Joined::Lead(lead) = world.table.join(&id(identity), manner) else { panic!("it is new") };
        lead
    };
    let (a, b, c) = (flight(10), flight(11), flight(12));
    let ab = Blocked::wait_for(std::iter::once(a.flight()), b.flight());
    let bc = Blocked::wait_for(std::iter::once(b.flight()), c.flight());
    assert!(ab.is_some() && bc.is_some());
    assert!(Blocked::wait_for(std::iter::once(c.flight()), a.flight()).is_none());
    drop(bc);
    assert!(Blocked::wait_for(std::iter::once(c.flight()), a.flight()).is_some());
}

#[test]
fn p23_seats_given_up_leave_nothing_in_the_line() {
    let world = World::new();
    let lead = world.lead();
    let keep = world.follow(100);
    for _ in 0..100_000 {
        drop(world.follow(90));
    }
    assert!(lock(&lead.flight().state).line_len() < 200);
    drop(keep);
    assert_eq!(world.look(1), None, "with nobody waiting the timer ends");
    let _again = pin!(world.follow(50));
}
