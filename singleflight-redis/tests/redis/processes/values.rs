//! What callers see of values that other processes load, invalidate or fail to load.

use std::sync::atomic::Ordering;
use std::time::Duration;

use singleflight_tests::harness::GRAIN;
use singleflight_tests::server::Server;
use tokio::time::{Instant, sleep};

use super::fleet::{Manner, fleet, fleet_of, nothing_is_left, until_one_loads};
use super::origin::Origin;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn p05_a_load_begun_before_an_invalidation_elsewhere_is_never_seen_after() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 3).await;
    let old = fleet[0].tell("call k");
    let first = origin.next().await;
    assert_eq!(fleet[2].ask("invalidate k").await, "ok");
    let call = fleet[1].tell("call k");
    let second = origin.next().await;
    assert_eq!(second.process, fleet[1].id(), "it does not wait for the older one");
    // Late: its value must not replace the newer one, before or after that is there.
    first.gives(1);
    assert_eq!(fleet[0].answer(old).await, "got 1", "its own caller came before");
    second.gives(2);
    assert_eq!(fleet[1].answer(call).await, "got 2");
    for worker in &mut fleet {
        assert_eq!(worker.ask("call k").await, "got 2");
    }
    assert_eq!(origin.loads(), 2);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p06_who_joins_an_older_flight_after_an_invalidation_elsewhere_looks_again() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    let old = fleet[0].tell("call k");
    let first = origin.next().await;
    assert_eq!(fleet[1].ask("invalidate k").await, "ok");
    // It cannot know, and joins.
    let late = fleet[0].calls(5, "k");
    assert_eq!(fleet[0].ask("state").await.split(' ').next(), Some("1"));
    first.gives(1);
    assert_eq!(fleet[0].answer(old).await, "got 1");
    origin.next().await.gives(2);
    assert_eq!(fleet[0].all(late).await, vec!["got 2"; 5]);
    assert_eq!(fleet[1].ask("call k").await, "got 2");
    assert_eq!(origin.loads(), 2);
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p15_a_failure_answers_those_who_wait_in_other_processes() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 3).await;
    let leader = fleet[0].tell("call k");
    let load = origin.next().await;
    let (one, two) = (fleet[1].calls(5, "k"), fleet[2].calls(5, "k"));
    fleet[1].waits(1).await;
    fleet[2].waits(1).await;
    load.fails();
    assert_eq!(fleet[0].answer(leader).await, "failed no such row");
    for (worker, calls) in fleet[1..].iter_mut().zip([one, two]) {
        for answer in worker.all(calls).await {
            assert!(answer.starts_with("failed ") && answer.contains("no such row"), "{answer}");
        }
    }
    assert_eq!(origin.loads(), 1, "nobody tries again by itself");
    let again = fleet[1].tell("call k");
    origin.next().await.gives(2);
    assert_eq!(fleet[1].answer(again).await, "got 2", "and it is not kept");
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p15_a_cooldown_is_kept_by_the_fleet_and_no_longer_than_it_says() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    let call = "k cooldown=6000";
    let first = fleet[0].tell(&format!("call {call}"));
    let load = origin.next().await;
    let failed = Instant::now();
    load.fails();
    assert_eq!(fleet[0].answer(first).await, "failed no such row");
    let note = || server.keys().iter().any(|key| key.ends_with("}f"));
    crate::rig::until("the failure is noted", note).await;
    let mut shared = 0;
    let is_the_failure = |answer: &str| {
        assert!(answer.contains("no such row"), "{answer}");
        shared += 1;
    };
    let (at, call, load) = until_one_loads(&mut fleet, &mut origin, call, is_the_failure).await;
    assert!(load.at - failed.into_std() >= 6 * SECOND - GRAIN, "not before it has cooled down");
    assert!(shared >= 1, "and until then the failure is shared");
    load.gives(2);
    assert_eq!(fleet[at].answer(call).await, "got 2");
    assert_eq!(fleet[0].ask("call k").await, "got 2");
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p18_a_stale_value_is_refreshed_by_one_in_the_fleet_and_gone_when_it_says() {
    stale_values_are_refreshed_by_one(Manner::default()).await;
}

/// What P18 says of a fleet.
pub(super) async fn stale_values_are_refreshed_by_one(manner: Manner<'_>) {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet_of(&server.url(), &origin, 3, manner).await;
    let call = "k soft=1000 ttl=8000 lease=20000";
    let first = fleet[0].tell(&format!("call {call}"));
    origin.next().await.gives(1);
    let published = Instant::now();
    assert_eq!(fleet[0].answer(first).await, "got 1");
    let fresh = |answer: &str| assert_eq!(answer, "got 1", "fresh");
    let (refresher, own, refresh) = until_one_loads(&mut fleet, &mut origin, call, fresh).await;
    assert!(refresh.at - published.into_std() >= SECOND - GRAIN, "not before the soft TTL");
    let mut stale = 0;
    // Everyone else is answered with the copy, as long as there is one.
    for worker in &mut fleet {
        if published.elapsed() < 6 * SECOND {
            let calls = worker.calls(5, call);
            assert_eq!(worker.all(calls).await, vec!["got 1"; 5]);
            stale += 5;
        }
    }
    println!("{stale} were answered with the copy");
    crate::rig::until("it is gone", || !server.keys().iter().any(|key| key.ends_with("}v"))).await;
    assert!(published.elapsed() >= 8 * SECOND - GRAIN);
    let after = fleet[2].calls(5, call);
    refresh.gives(2);
    assert_eq!(fleet[refresher].answer(own).await, "got 2");
    assert_eq!(fleet[2].all(after).await, vec!["got 2"; 5], "hard-expired values are never served");
    assert_eq!(origin.loads(), 2, "one refresher in the fleet");
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p19_waiters_whose_budgets_end_together_load_once_in_each_process() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 3).await;
    let hung = fleet[0].tell("call k");
    let first = origin.next().await;
    let call = "k wait=1000";
    let calls: Vec<_> = fleet[1..].iter_mut().map(|worker| worker.calls(20, call)).collect();
    let overdue = [origin.next().await, origin.next().await];
    let mut processes = overdue.each_ref().map(|load| load.process);
    processes.sort_unstable();
    let mut others = [fleet[1].id(), fleet[2].id()];
    others.sort_unstable();
    assert_eq!(processes, others, "one in each");
    // Meanwhile the budgets of all the others end.
    sleep(SECOND).await;
    assert_eq!(origin.loads(), 3, "one at a time");
    for load in overdue {
        assert!(load.at - first.at >= SECOND - GRAIN, "not before the budget ends");
        load.gives(2);
    }
    // Who called later than the load began is not answered with it: they share the next one.
    let loads = origin.gives_all(2);
    for (worker, calls) in fleet[1..].iter_mut().zip(calls) {
        assert_eq!(worker.all(calls).await, vec!["got 2"; 20]);
    }
    assert!(loads.load(Ordering::SeqCst) <= 5, "at most one more in each");
    first.gives(1);
    assert_eq!(fleet[0].answer(hung).await, "got 1");
    nothing_is_left(&mut fleet, &server).await;
}

#[tokio::test]
async fn p21_keys_that_load_each_other_crosswise_end_within_the_budget() {
    let (server, mut origin) = (Server::start(), Origin::start());
    let mut fleet = fleet(&server, &origin, 2).await;
    let one = fleet[0].tell("call a wait=1000");
    let first = origin.next().await;
    let two = fleet[1].tell("call b wait=1000");
    let second = origin.next().await;
    assert_eq!((&*first.key, &*second.key), ("a", "b"));
    first.calls("b", "wait=1000");
    second.calls("a", "wait=1000");
    // Whose budget ends first loads without the lease; the other one may have its value by then.
    let loads = origin.gives_all(5);
    for (worker, call) in fleet.iter_mut().zip([one, two]) {
        let answer = worker.answer(call).await;
        assert!(answer.starts_with("got "), "{answer}");
    }
    let loads = loads.load(Ordering::SeqCst);
    assert!((3..=4).contains(&loads), "{loads} loads");
    nothing_is_left(&mut fleet, &server).await;
}
