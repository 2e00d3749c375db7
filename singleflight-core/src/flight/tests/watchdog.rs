//! Leaders that hang, budgets that end, and who looks after both.

use super::*;
use crate::clock::Clock;

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
fn p12_a_deposed_leader_that_goes_or_speaks_changes_nothing() {
    let world = World::new();
    let old = world.lead();
    let (mut next, mut patient) = (world.follow(100), world.follow(100));
    world.look(5);
    let Some(Followed::Lead(lead)) = poll(&mut next) else { panic!("the first follower leads") };
    assert_eq!(lock(&lead.flight().state).reign, 3, "the watchdog's reign lies between");
    lead.set_busy(false);
    old.set_busy(true);
    let Joined::Follow(mut impatient) = world.join_as(100, true, false) else {
        panic!("a deposed leader cannot say that a fill is on")
    };
    drop(old);
    assert!(poll(&mut patient).is_none() && poll(&mut impatient).is_none(), "it hands over nothing");
    assert!(lead.answer("yes"));
    assert!(matches!(poll(&mut patient), Some(Followed::Answer("yes"))));
}

#[test]
fn p12_a_successor_deposed_before_it_is_polled_looks_again() {
    let world = World::new();
    let _old = world.lead();
    let (mut parked, mut next) = (world.follow(100), world.follow(100));
    world.look(5);
    world.look(10);
    assert!(matches!(poll(&mut parked), Some(Followed::Again)), "its reign is over though the flight is not");
    assert!(matches!(poll(&mut next), Some(Followed::Lead(_))));
}

#[test]
fn the_watchdog_is_woken_by_an_earlier_deadline_alone() {
    let world = World::new();
    let lead = world.lead();
    lead.set_terms(Duration::from_secs(1000), None);
    let _first = world.follow(50);
    let (calls, waker) = Calls::new();
    let look = || lock(&world.table.crew().watchdogs)[0].look(world.at(0), &waker);
    assert_eq!(look(), Some(world.at(50)));
    let _later = world.follow(60);
    assert_eq!(calls.take(), 0, "it would look in time");
    let _earlier = world.follow(40);
    assert_eq!(calls.take(), 1);
    assert_eq!(look(), Some(world.at(40)));
}

#[tokio::test(start_paused = true)]
async fn the_watchdogs_timer_moves_with_the_earliest_deadline() {
    let clock = Clock::system();
    let origin = clock.now();
    let table = FlightTable::new(Hands::default(), origin);
    let join = |seconds| {
        let (now, deadline) = (origin, origin + Duration::from_secs(seconds));
        let patience = Duration::from_secs(1000);
        table.join(&id(1), Manner { arrived: now, now, deadline, impatient: false, patience, busy: true })
    };
    let Joined::Lead(_lead) = join(900) else { panic!("someone leads already") };
    let Joined::Follow(mut late) = join(100) else { panic!("nobody leads") };
    let watchdog = lock(&table.crew().watchdogs).pop().unwrap();
    let running = tokio::spawn(watchdog.run(clock.clone()));
    tokio::task::yield_now().await;
    let Joined::Follow(early) = join(10) else { panic!("nobody leads") };
    assert!(matches!(early.await, Followed::Expired));
    assert_eq!(clock.now() - origin, Duration::from_secs(10));
    assert!(poll(&mut late).is_none());
    assert!(matches!(late.await, Followed::Expired));
    assert_eq!(clock.now() - origin, Duration::from_secs(100));
    running.await.unwrap();
}

#[test]
fn a_watchdog_that_gives_up_wakes_nobody_and_is_not_replaced() {
    let world = World::new();
    let _lead = world.lead();
    let mut follow = world.follow(100);
    let (calls, waker) = Calls::new();
    assert!(poll_by(&mut follow, &waker).is_none());
    let watchdog = lock(&world.table.crew().watchdogs).pop().unwrap();
    watchdog.give_up();
    assert_eq!(calls.take(), 0);
    assert!(poll_by(&mut follow, &waker).is_none());
    assert!(lock(&world.table.crew().watchdogs).is_empty(), "or each would start the next, without end");
}
