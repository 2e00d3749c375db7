//! The same with near copies in each process. What may be seen of an old value, and for how long, is
//! `tests/consistency.rs`'s business.

use singleflight_tests::server::Server;

use super::fleet::{Manner, Worker, fleet_of, nothing_is_left};
use super::origin::Origin;
use super::values::stale_values_are_refreshed_by_one;
use crate::rig::soon;

const NEAR: Manner<'static> = Manner { hasty: false, near: true, clock: None };

/// Has every process hold a copy of this value of the key, which is in the store.
async fn hold(fleet: &mut [Worker], key: &str, value: u32) {
    let got = format!("got {value}");
    for worker in fleet {
        // Copies made before are dropped when it begins to hear.
        soon("it hears of changes", async || {
            assert_eq!(worker.ask(&format!("call {key}")).await, got);
            worker.ask("hears").await == "true"
        })
        .await;
        let before = near_hits(worker).await;
        soon("a near copy answers", async || {
            assert_eq!(worker.ask(&format!("call {key}")).await, got);
            near_hits(worker).await > before
        })
        .await;
    }
}

/// Three processes that hold a copy of 1 under `k`, which one of them has loaded.
async fn holders(server: &Server, origin: &mut Origin) -> Vec<Worker> {
    let mut fleet = fleet_of(&server.url(), origin, 3, NEAR).await;
    let first = fleet[0].tell("call k");
    origin.next().await.gives(1);
    assert_eq!(fleet[0].answer(first).await, "got 1");
    hold(&mut fleet, "k", 1).await;
    fleet
}

async fn near_hits(worker: &mut Worker) -> u32 {
    worker.ask("near").await.parse().unwrap()
}

#[tokio::test]
async fn p06_who_calls_after_an_invalidation_here_gets_neither_the_copy_nor_the_older_flight() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = holders(&server, &mut origin).await;

    assert_eq!(fleet[1].ask("invalidate k").await, "ok");
    let old = fleet[1].tell("call k");
    let load = origin.next().await;
    assert_eq!(load.process, fleet[1].id(), "not answered with its copy");
    assert_eq!(fleet[1].ask("invalidate k").await, "ok");
    let new = fleet[1].calls(5, "k");
    let newer = origin.next().await;
    assert_eq!(newer.process, fleet[1].id(), "nor by the older flight");
    // Late: the other one's value is there, near and far, and stays.
    newer.gives(3);
    assert_eq!(fleet[1].all(new).await, vec!["got 3"; 5]);
    load.gives(2);
    assert_eq!(fleet[1].answer(old).await, "got 2", "its caller called before");
    for worker in &mut fleet {
        soon("it has heard", async || worker.ask("call k").await == "got 3").await;
    }
    hold(&mut fleet, "k", 3).await;
    assert_eq!(origin.loads(), 3);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p18_copies_live_no_longer_than_the_server_says_they_are_fresh() {
    stale_values_are_refreshed_by_one(NEAR).await;
}

#[tokio::test]
async fn p24_a_copy_answers_without_the_body_and_without_the_server() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = holders(&server, &mut origin).await;
    let asked = || ["get", "pttl", "evalsha", "eval"].map(|command| server.calls(command));
    let before = asked();
    for worker in &mut fleet {
        let before = near_hits(worker).await;
        let calls = worker.calls(100, "k");
        assert_eq!(worker.all(calls).await, vec!["got 1"; 100]);
        assert_eq!(near_hits(worker).await, before + 100);
    }
    assert_eq!(asked(), before, "the server is asked nothing");
    assert_eq!(origin.loads(), 1);
    nothing_is_left(&mut fleet, &server).await;
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn p28_copies_of_any_key_are_dropped_across_the_nodes_of_a_cluster() {
    let (cluster, mut origin) = (singleflight_tests::cluster::Cluster::steady(), Origin::start());
    let mut fleet = fleet_of(&cluster.url(), &origin, 3, NEAR).await;
    let keys = ["plain", "user:{1}:2", "}{", "{}", "a{b}c{d}", "{{x}}", "1", "2", "3"];
    let mut slots = std::collections::BTreeSet::new();
    for key in keys {
        let first = fleet[0].tell(&format!("call {key}"));
        origin.next().await.gives(1);
        assert_eq!(fleet[0].answer(first).await, "got 1");
        hold(&mut fleet, key, 1).await;
        assert_eq!(fleet[1].ask(&format!("invalidate {key}")).await, "ok");
        let second = fleet[1].tell(&format!("call {key}"));
        origin.next().await.gives(2);
        assert_eq!(fleet[1].answer(second).await, "got 2");
        for worker in &mut fleet {
            soon("it has heard", async || worker.ask(&format!("call {key}")).await == "got 2").await;
        }
    }
    for name in cluster.keys() {
        slots.insert(cluster.owner(cluster.slot(&name)));
    }
    assert_eq!(slots.len(), 3, "the keys are on every primary");
    assert_eq!(origin.loads(), 2 * keys.len());
    cluster.assert_every_key_ends();
}
