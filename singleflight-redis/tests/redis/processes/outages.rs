//! Servers that go away while several processes use them, and clocks that differ.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singleflight_tests::harness::GRAIN;
use singleflight_tests::server::Server;
use tokio::time::Instant;

use super::fleet::{Manner, Worker, fleet, nothing_is_left, until_one_loads};
use super::origin::Origin;
use crate::rig::{PATIENCE, soon};

const SECOND: Duration = Duration::from_secs(1);

async fn until_the_link_is(fleet: &mut [Worker], state: &str) {
    for worker in fleet {
        soon("the link is noticed", async || worker.ask("state").await.ends_with(state)).await;
    }
}

#[tokio::test]
async fn p25_each_process_coalesces_by_itself_while_the_server_is_away() {
    let (mut server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 3).await;
    server.kill();
    until_the_link_is(&mut fleet, "down").await;
    let calls: Vec<_> = fleet.iter_mut().map(|worker| worker.calls(10, "k")).collect();
    let mut processes = Vec::new();
    for _ in 0..3 {
        let load = origin.next().await;
        processes.push(load.process);
        load.gives(1);
    }
    for (worker, calls) in fleet.iter_mut().zip(calls) {
        assert_eq!(worker.all(calls).await, vec!["got 1"; 10]);
    }
    processes.sort_unstable();
    processes.dedup();
    assert_eq!((processes.len(), origin.loads()), (3, 3), "one load in each process");
    server.revive();
    until_the_link_is(&mut fleet, "up").await;
    // What each held meanwhile is dropped, and one load is for all again.
    let calls: Vec<_> = fleet.iter_mut().map(|worker| worker.calls(10, "k")).collect();
    origin.next().await.gives(2);
    for (worker, calls) in fleet.iter_mut().zip(calls) {
        assert_eq!(worker.all(calls).await, vec!["got 2"; 10]);
    }
    assert_eq!(origin.loads(), 4);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p25_a_server_that_restarts_during_a_load_costs_one_more_at_most() {
    let (mut server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    let call = "k lease=6000";
    let own = fleet[0].tell(&format!("call {call}"));
    let first = origin.next().await;
    let there = fleet[1].calls(5, call);
    fleet[1].waits(1).await;
    server.kill();
    server.revive();
    let second = origin.next().await;
    first.gives(1);
    assert_eq!(fleet[0].answer(own).await, "got 1");
    second.gives(2);
    let answers = fleet[1].all(there).await;
    assert_eq!(answers, vec!["got 2"; 5]);
    let (mut later, loads) = (Vec::new(), origin.gives_all(3));
    until_the_link_is(&mut fleet, "up").await;
    for worker in &mut fleet {
        later.push(worker.ask("call k").await);
    }
    // Loaded without the server, the second value may have been held in its process only.
    assert!(later.iter().all(|answer| answer == "got 2" || answer == "got 3"), "{later:?}");
    assert!(loads.load(std::sync::atomic::Ordering::SeqCst) <= 3);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p26_processes_answer_while_the_server_is_frozen_and_find_it_again() {
    let (server, origin) = (Server::start(), Origin::start());
    let mut fleet = Vec::new();
    for _ in 0..2 {
        let manner = Manner { hasty: true, ..Manner::default() };
        fleet.push(Worker::start(&server.url(), &origin, manner).await);
    }
    let loads = origin.gives_all(1);
    server.freeze();
    let start = Instant::now();
    for round in 0..100 {
        for worker in &mut fleet {
            assert_eq!(worker.ask(&format!("call k{round}")).await, "got 1");
        }
    }
    // A time-out each would be 50 seconds.
    println!("2 processes, 200 calls in {:?}", start.elapsed());
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert_eq!(loads.load(std::sync::atomic::Ordering::SeqCst), 200);
    server.thaw();
    for worker in &mut fleet {
        let mut back = 0;
        soon("it is found again", async || {
            back += 1;
            worker.ask(&format!("call back{back}")).await;
            worker.ask("state").await.ends_with("up")
        })
        .await;
    }
    // A step that times out makes a value its process's own, so that it may take another key.
    let mut shared = 0;
    soon("they share values again", async || {
        shared += 1;
        let call = format!("call shared{shared}");
        assert_eq!(fleet[0].ask(&call).await, "got 1");
        let before = loads.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(fleet[1].ask(&call).await, "got 1");
        loads.load(std::sync::atomic::Ordering::SeqCst) == before
    })
    .await;
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p27_clocks_that_differ_by_minutes_change_nothing() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = Vec::new();
    for (offset, seconds) in [("-90s", -90), ("+0s", 0), ("+90s", 90)] {
        let manner = Manner { clock: Some(offset), ..Manner::default() };
        let mut worker = Worker::start(&server.url(), &origin, manner).await;
        let theirs: i64 = worker.ask("clock").await.parse().unwrap();
        let ours = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let off = theirs - i64::try_from(ours).unwrap();
        assert!((seconds - 20..=seconds + 1).contains(&off), "{offset}: {off}");
        fleet.push(worker);
    }
    let call = "k soft=3000 ttl=6000 lease=20000";
    let calls: Vec<_> = fleet.iter_mut().map(|worker| worker.calls(5, call)).collect();
    let load = origin.next().await;
    load.gives(1);
    let published = Instant::now();
    for (worker, calls) in fleet.iter_mut().zip(calls) {
        assert_eq!(worker.all(calls).await, vec!["got 1"; 5]);
    }
    assert_eq!(origin.loads(), 1, "one load for all of them");
    // Fresh for each of them until the server says that it is stale.
    let fresh = |answer: &str| assert_eq!(answer, "got 1", "fresh");
    let (refresher, own, refresh) = until_one_loads(&mut fleet, &mut origin, call, fresh).await;
    assert!(refresh.at - published.into_std() >= 3 * SECOND - GRAIN, "not before the soft TTL");
    crate::rig::until("it is gone", || !server.keys().iter().any(|key| key.ends_with("}v"))).await;
    assert!(published.elapsed() >= 6 * SECOND - GRAIN, "not before the hard TTL");
    let calls: Vec<_> = fleet.iter_mut().map(|worker| worker.calls(5, call)).collect();
    refresh.gives(2);
    for (worker, calls) in fleet.iter_mut().zip(calls) {
        assert_eq!(worker.all(calls).await, vec!["got 2"; 5], "gone for each of them");
    }
    assert_eq!(fleet[refresher].answer(own).await, "got 2");
    assert_eq!(origin.loads(), 2);
    nothing_is_left(&mut fleet, &server).await;
}
