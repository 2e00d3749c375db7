//! Leaders that die, stop, go away or panic, and what the rest of the fleet makes of it.

use std::time::Duration;

use singleflight_core::LeaseBackend;
use singleflight_tests::harness::GRAIN;
use singleflight_tests::server::Server;
use tokio::time::sleep;

use super::fleet::{Worker, fleet, nothing_is_left, take_out};
use super::origin::Origin;
use crate::rig::{bytes, connect};

const LEASE: Duration = Duration::from_secs(4);
const CALL: &str = "k lease=4000";

/// Ten calls in each process; the numbers of the calls in their order.
fn herd(fleet: &mut [Worker]) -> Vec<Vec<u32>> {
    fleet.iter_mut().map(|worker| worker.calls(10, CALL)).collect()
}

async fn all_got(fleet: &mut [Worker], calls: Vec<Vec<u32>>, value: u32) {
    for (worker, calls) in fleet.iter_mut().zip(calls) {
        assert_eq!(worker.all(calls).await, vec![format!("got {value}"); 10]);
    }
}

#[tokio::test]
async fn p14_four_processes_of_ten_callers_are_one_load() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 4).await;
    let calls = herd(&mut fleet);
    let load = origin.next().await;
    // More than two leases, which are renewed.
    sleep(10 * LEASE / 4).await;
    load.gives(1);
    all_got(&mut fleet, calls, 1).await;
    assert_eq!(origin.loads(), 1);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p11_case_25_a_killed_leader_has_one_successor_in_the_fleet() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 6).await;
    // The leader has a caller of its own and is not waited for.
    let leader = fleet[0].tell(&format!("call {CALL}"));
    let first = origin.next().await;
    assert_eq!((first.process, leader), (fleet[0].id(), 1));
    let dead = fleet.remove(0);
    let calls = herd(&mut fleet);
    for worker in &mut fleet {
        worker.waits(1).await;
    }
    // So that the lease has been renewed.
    sleep(LEASE).await;
    let killed = std::time::Instant::now();
    drop(dead);
    let second = origin.next().await;
    println!("the next load began {:?} after the kill, with a lease of {LEASE:?}", second.at - killed);
    assert!(second.at - first.at >= LEASE - GRAIN, "not before the lease ended");
    second.gives(2);
    all_got(&mut fleet, calls, 2).await;
    assert_eq!(origin.loads(), 2, "exactly one successor");
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p08_a_dead_process_loses_its_lease_with_its_time() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    fleet[0].tell(&format!("call {CALL}"));
    let first = origin.next().await;
    drop(take_out(&mut fleet, first.process));
    crate::rig::until("its lease is over", || server.keys().is_empty()).await;
    let call = fleet[0].tell(&format!("call {CALL}"));
    let second = origin.next().await;
    assert!(second.at - first.at >= LEASE - GRAIN);
    second.gives(2);
    assert_eq!(fleet[0].answer(call).await, "got 2");
    nothing_is_left(&mut fleet, &server).await;
}

/// Stopped past its lease, and woken with a value to publish.
async fn stopped_past_its_lease() -> (Server, Vec<String>) {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 3).await;
    let own = fleet[0].calls(10, CALL);
    let first = origin.next().await;
    let mut leader = fleet.remove(0);
    leader.signal("-STOP");
    let calls = herd(&mut fleet);
    let second = origin.next().await;
    assert!(second.at - first.at >= LEASE - GRAIN, "not before the lease ended");
    second.gives(2);
    all_got(&mut fleet, calls, 2).await;
    first.gives(1);
    leader.signal("-CONT");
    let answers = leader.all(own).await;
    assert_eq!(origin.loads(), 2, "one takeover in the fleet");
    let stored = bytes(connect(&server).await.read("test:k").await);
    assert_eq!(stored.as_deref(), Some(&[2][..]), "what the second load gave, in MessagePack");
    fleet.push(leader);
    nothing_is_left(&mut fleet, &server).await;
    (server, answers)
}

#[tokio::test]
async fn p12_a_stopped_leader_is_taken_over_when_its_lease_ends() {
    let (_, answers) = stopped_past_its_lease().await;
    assert_eq!(answers.len(), 10, "and its own callers are answered when it wakes up");
}

#[tokio::test]
async fn p13_a_leader_stopped_past_its_lease_stores_nothing() {
    let (_, answers) = stopped_past_its_lease().await;
    let count = |wanted: &str| answers.iter().filter(|answer| *answer == wanted).count();
    assert!(count("got 1") <= 1 && count("got 1") + count("got 2") == 10, "its own caller's: {answers:?}");
}

#[tokio::test]
async fn p16_a_dropped_leader_hands_over_within_its_process() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    // Nobody is to wait for the lease to end: it is long.
    let leader = fleet[0].tell("call k");
    let first = origin.next().await;
    let here = fleet[0].calls(5, "k");
    let there = fleet[1].calls(5, "k");
    fleet[1].waits(1).await;
    assert_eq!(fleet[0].ask(&format!("drop {leader}")).await, "ok");
    assert_eq!(fleet[0].answer(leader).await, "dropped");
    let second = origin.next().await;
    assert_eq!(second.process, first.process, "the flight and its lease go to a follower");
    second.gives(2);
    assert_eq!(fleet[0].all(here).await, vec!["got 2"; 5]);
    assert_eq!(fleet[1].all(there).await, vec!["got 2"; 5]);
    assert_eq!(origin.loads(), 2);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p16_a_dropped_leader_without_followers_frees_the_key_for_the_fleet() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    let leader = fleet[0].tell("call k");
    let _first = origin.next().await;
    let there = fleet[1].calls(5, "k");
    fleet[1].waits(1).await;
    fleet[0].ask(&format!("drop {leader}")).await;
    let second = origin.next().await;
    assert_eq!(second.process, fleet[1].id(), "nobody waits for the lease to end");
    second.gives(2);
    assert_eq!(fleet[1].all(there).await, vec!["got 2"; 5]);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p17_a_panic_is_an_error_to_other_processes_and_the_key_works_afterwards() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    let leader = fleet[0].tell("call k");
    let load = origin.next().await;
    let there = fleet[1].calls(5, "k");
    fleet[1].waits(1).await;
    load.panics();
    assert_eq!(fleet[0].answer(leader).await, "panicked");
    for answer in fleet[1].all(there).await {
        assert!(answer.starts_with("failed ") && answer.contains("panicked"), "{answer}");
    }
    assert_eq!(origin.loads(), 1);
    let again = fleet[1].tell("call k");
    origin.next().await.gives(2);
    assert_eq!(fleet[1].answer(again).await, "got 2");
    assert_eq!(fleet[0].ask("call k").await, "got 2");
    nothing_is_left(&mut fleet, &server).await;
}
