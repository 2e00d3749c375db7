//! Locks that outlive their owner's load or end before it: whose is it, and who may store?

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use singleflight_core::testing::{Method, Moment};
use singleflight_tests::harness::within;
use singleflight_tests::server::Server;
use singleflight_tests::source::Source;
use tokio::task::JoinHandle;

use crate::recipes::{constant_token, hard_coded_ttl, no_second_look, plain_del};
use crate::rig::{LONG, PATIENCE, SHORT, begin, connection, ended, leased, overrun, process, until, waits};
use crate::tools;

type Load = JoinHandle<tools::Result<Option<u64>>>;

/// The first owner's lock ends while it loads; the second takes it; the first releases; a third comes by. How many of
/// them load is what the recipe decides.
async fn three_owners(
    load: impl Fn(MultiplexedConnection, Arc<Source>, &'static str, Duration) -> Load,
) -> usize {
    let server = Server::start();
    let redis = connection(&server).await;
    let (slow, source) = (Source::gated(), Source::gated());
    let first = load(redis.clone(), slow.clone(), "one", SHORT);
    slow.began().await;
    ended(&server, "lock:row").await;
    let second = load(redis.clone(), source.clone(), "two", LONG);
    source.began().await;
    slow.let_through(1);
    assert_eq!(first.await.unwrap().unwrap(), Some(1));
    let third = load(redis, source.clone(), "three", LONG);
    source.let_through(2);
    assert_eq!(second.await.unwrap().unwrap(), Some(1));
    third.await.unwrap().unwrap();
    slow.loads() + source.loads()
}

#[tokio::test]
async fn a_constant_token_releases_someone_elses_lock() {
    let loads = three_owners(|redis, db, _, ttl| tokio::spawn(constant_token(redis, db, "row", ttl)));
    assert_eq!(loads.await, 3, "the third gets in although the second still loads");
}

#[tokio::test]
async fn plain_del_releases_someone_elses_lock() {
    let loads = three_owners(|redis, db, token, ttl| tokio::spawn(plain_del(redis, db, "row", token, ttl)));
    assert_eq!(loads.await, 3, "the third gets in although the second still loads");
}

#[tokio::test]
async fn a_lease_is_ended_by_its_own_grant_alone() {
    let server = Server::start();
    let (first, second, third) = (process(&server).await, process(&server).await, process(&server).await);
    let (slow, source) = (Source::gated(), Source::gated());
    source.set(2);
    let late = first.spawn(overrun(), &slow);
    slow.began().await;
    let next = second.spawn(leased(LONG), &source);
    source.began().await;
    slow.let_through(1);
    assert_eq!(late.await.unwrap().unwrap(), 1, "its own caller gets what it loaded");
    let last = third.spawn(leased(LONG), &source);
    waits(&third).await;
    source.let_through(2);
    assert_eq!((next.await.unwrap().unwrap(), last.await.unwrap().unwrap()), (2, 2));
    assert_eq!((slow.loads(), source.loads()), (1, 1), "the third waited for the second");
}

#[tokio::test]
async fn without_a_second_look_what_was_just_stored_is_loaded_again() {
    let server = Server::start();
    let redis = connection(&server).await;
    let source = Source::quick();
    let mut slow = pin!(no_second_look(redis.clone(), source.clone(), "row", "one"));
    begin(slow.as_mut(), || server.calls("get") == 1).await;
    assert_eq!(no_second_look(redis, source.clone(), "row", "two").await.unwrap(), Some(1));
    assert_eq!(slow.await.unwrap(), Some(1));
    assert_eq!(source.loads(), 2, "although nothing had changed");
}

#[tokio::test]
async fn whoever_asks_for_a_lease_is_told_of_a_fresh_value() {
    let server = Server::start();
    let (first, second) = (process(&server).await, process(&server).await);
    let source = Source::quick();
    let gate = first.way.on(Method::Read).at(Moment::After).hold();
    let slow = first.spawn(leased(LONG), &source);
    gate.reached().await;
    assert_eq!(second.call(leased(LONG), &source).await.unwrap(), 1);
    drop(gate);
    assert_eq!(slow.await.unwrap().unwrap(), 1);
    assert_eq!(source.loads(), 1);
}

#[tokio::test]
async fn a_load_outlasts_its_hard_coded_ttl_and_stores_an_old_value() {
    let server = Server::start();
    let mut redis = connection(&server).await;
    let (slow, source) = (Source::gated(), Source::quick());
    let first = tokio::spawn(hard_coded_ttl(redis.clone(), slow.clone(), "row", "one"));
    slow.began().await;
    source.set(2);
    ended(&server, "lock:row").await;
    assert_eq!(hard_coded_ttl(redis.clone(), source.clone(), "row", "two").await.unwrap(), Some(2));
    slow.let_through(1);
    assert_eq!(first.await.unwrap().unwrap(), Some(1));
    assert_eq!((slow.loads(), source.loads()), (1, 1), "two loads");
    let stored: u64 = redis.get("row").await.unwrap();
    assert_eq!(stored, 1, "and the older of them is what everyone reads from now on");
}

#[tokio::test]
async fn a_lease_is_renewed_while_its_load_goes_on() {
    // Long enough for a machine that does something else for a while.
    const LEASE: Duration = Duration::from_secs(6);
    let server = Server::start();
    let (first, second) = (process(&server).await, process(&server).await);
    let (slow, source) = (Source::gated(), Source::quick());
    source.set(2);
    let long = first.spawn(leased(LEASE).max_hold(LONG), &slow);
    slow.began().await;
    let other = second.spawn(leased(LEASE).max_hold(LONG), &source);
    waits(&second).await;
    // Three to a lease: it has gone on for longer than one without.
    until(|| first.flights.statistics().total.renewals >= 4).await;
    slow.let_through(1);
    assert_eq!(within(PATIENCE, other).await.unwrap().unwrap(), 1);
    assert_eq!(long.await.unwrap().unwrap(), 1);
    assert_eq!((slow.loads(), source.loads()), (1, 0));
}

#[tokio::test]
async fn a_load_that_lost_its_lease_stores_nothing() {
    let server = Server::start();
    let (first, second) = (process(&server).await, process(&server).await);
    let (slow, source) = (Source::gated(), Source::quick());
    source.set(2);
    let late = first.spawn(overrun(), &slow);
    slow.began().await;
    assert_eq!(second.call(leased(LONG), &source).await.unwrap(), 2);
    slow.let_through(1);
    assert_eq!(late.await.unwrap().unwrap(), 1, "its own caller gets what it loaded");
    assert_eq!(first.flights.statistics().total.fenced, 1);
    for process in [first, second] {
        assert_eq!(process.call(leased(LONG), &source).await.unwrap(), 2, "nobody else does");
    }
    assert_eq!((slow.loads(), source.loads()), (1, 1));
}
