//! The flight table step by step; every interleaving is the model's business.

use std::any::TypeId;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::*;
use crate::sync::lock;

mod watchdog;

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
        let (now, deadline) = (self.at(0), self.at(deadline));
        self.table.join(&id(1), Manner { arrived: now, now, deadline, impatient, patience, busy })
    }

    /// Leads another function's flight of the same key.
    fn lead_of(&self, identity: u32) -> Lead<Hands> {
        let (now, deadline) = (self.at(0), self.at(1));
        let manner =
            Manner { arrived: now, now, deadline, impatient: false, patience: Duration::MAX, busy: true };
        let Joined::Lead(lead) = self.table.join(&id(identity), manner) else { panic!("it is new") };
        lead
    }

    /// Joins now a flight for a caller that called so many seconds ago.
    fn follow_since(&self, seconds: u64) -> Follow<Hands> {
        let now = self.at(0);
        let arrived = now - Duration::from_secs(seconds);
        let (deadline, patience) = (self.at(100), Duration::from_secs(5));
        let manner = Manner { arrived, now, deadline, impatient: false, patience, busy: true };
        let Joined::Follow(follow) = self.table.join(&id(1), manner) else { panic!("nobody leads") };
        follow
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

/// Counts how often it is called.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Calls {
    fn new() -> (std::sync::Arc<Self>, Waker) {
        let calls = std::sync::Arc::new(Self::default());
        (calls.clone(), Waker::from(calls))
    }

    /// Since this was asked last.
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Calls {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn id(identity: u32) -> FlightId {
    FlightId { key: "k".into(), value: TypeId::of::<()>(), identity, purpose: Purpose::Fill }
}

fn poll(follow: &mut Follow<Hands>) -> Option<Followed<Hands>> {
    poll_by(follow, Waker::noop())
}

fn poll_by(follow: &mut Follow<Hands>, waker: &Waker) -> Option<Followed<Hands>> {
    match Pin::new(follow).poll(&mut Context::from_waker(waker)) {
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
    let mut moved = world.follow_since(1);
    lead.answer_sealed("yes");
    assert!(matches!(poll(&mut before), Some(Followed::Answer("yes"))));
    assert!(matches!(poll(&mut after), Some(Followed::Again)));
    assert!(matches!(poll(&mut moved), Some(Followed::Answer("yes"))), "it called before, and sat elsewhere");
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
    assert_eq!(lock(&lead.flight().state).reign, 2, "reigns only grow");
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
    let two = world.lead_of(2);
    assert_eq!(world.table.len(), 2);
    assert!(two.dismiss());
    assert_eq!(world.table.len(), 1);
}

#[test]
fn p21_a_circle_of_waiting_fills_is_found_by_the_one_that_closes_it() {
    let world = World::new();
    let (a, b, c) = (world.lead_of(10), world.lead_of(11), world.lead_of(12));
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

#[test]
fn the_waker_of_the_last_poll_is_the_one_that_is_called() {
    let world = World::new();
    let lead = world.lead();
    let mut follow = world.follow(100);
    let ((first, one), (second, two)) = (Calls::new(), Calls::new());
    assert!(poll_by(&mut follow, &one).is_none() && poll_by(&mut follow, &two).is_none());
    lead.answer("yes");
    assert_eq!((first.take(), second.take()), (0, 1));
}

#[test]
fn the_impatient_are_woken_when_the_fill_goes_on_and_nobody_when_it_stops() {
    let world = World::new();
    let Joined::Lead(lead) = world.join_as(100, false, false) else { panic!("someone leads already") };
    let Joined::Follow(mut impatient) = world.join_as(100, true, false) else { panic!("it may be a hit") };
    let mut patient = world.follow(100);
    let ((calls, waker), (others, other)) = (Calls::new(), Calls::new());
    assert!(poll_by(&mut impatient, &waker).is_none() && poll_by(&mut patient, &other).is_none());
    lead.set_busy(true);
    assert_eq!((calls.take(), others.take()), (1, 0));
    assert!(matches!(poll(&mut impatient), Some(Followed::Busy)));
    lead.set_busy(false);
    assert_eq!((calls.take(), others.take()), (0, 0));
}

#[test]
fn a_sibling_is_another_flight_of_the_key_that_has_got_so_far() {
    let world = World::new();
    let (one, two) = (world.lead_of(1), world.lead_of(2));
    one.set_stage(7);
    let of = |lead: &Lead<Hands>| world.table.sibling(lead.flight(), |stage| *stage == 7);
    assert!(of(&one).is_none(), "neither itself nor one that has not got there");
    assert!(Arc::ptr_eq(&of(&two).unwrap(), one.flight()));
}

#[cfg(feature = "test-util")]
#[tokio::test]
async fn followers_are_counted_by_key() {
    let world = World::new();
    let lead = world.lead();
    assert_eq!((world.table.followers("k"), world.table.followers("other")), (0, 0));
    let (_one, two) = (world.follow(100), world.follow(3));
    assert_eq!((world.table.followers("k"), world.table.keys()), (2, vec![("k".into(), 2)]));
    let third = tokio::spawn({
        let table = world.table.clone();
        async move { table.until_followers("k", 3).await }
    });
    tokio::task::yield_now().await;
    assert!(!third.is_finished());
    let _three = world.follow(100);
    third.await.unwrap();
    drop(two);
    assert_eq!(world.table.followers("k"), 2);
    drop(lead);
    assert_eq!(world.table.followers("k"), 1, "who has been handed the lead does not wait");
}

#[test]
fn p23_the_line_is_never_longer_than_twice_those_who_wait_and_a_few() {
    let world = World::new();
    let lead = world.lead();
    let mut waiting = Vec::new();
    for n in 0..1000 {
        drop(world.follow(90));
        if n % 10 == 0 {
            waiting.push(world.follow(100));
        }
        let line = lock(&lead.flight().state).line_len();
        assert!(line <= 2 * (waiting.len() + 1) + 64, "{line} in line for {}", waiting.len());
    }
}
