//! Those who wait: how they do it, and what they do when they have waited for long enough.

use singleflight_tests::harness::{all, within};
use singleflight_tests::server::Server;
use singleflight_tests::source::Source;

use crate::recipes::{load_on_timeout, poll_the_lock};
use crate::rig::{LONG, PATIENCE, SHORT, connection, leased, process, until, waits};
use crate::tools::take;

const WAITERS: usize = 10;

#[tokio::test]
async fn polling_the_lock_sends_commands_for_as_long_as_the_load_takes() {
    let (polled, watched) = (Server::start(), Server::start());
    let redis = connection(&polled).await;
    let (first, second) = (process(&watched).await, process(&watched).await);
    let source = Source::gated();
    let commands = |server: &Server| server.info("stats", "total_commands_processed");

    let owner = tokio::spawn(poll_the_lock(redis.clone(), source.clone(), "row", "owner"));
    let leader = first.spawn(leased(LONG), &source);
    for _ in 0..2 {
        source.began().await;
    }
    let before = commands(&watched);
    let pollers: Vec<_> = (0..WAITERS)
        .map(|_| tokio::spawn(poll_the_lock(redis.clone(), source.clone(), "row", "waiter")))
        .collect();
    let waiters = second.spawn_many(WAITERS, leased(LONG), &source);
    waits(&second).await;
    // Side by side, for as long as it takes the pollers to send a thousand.
    until(|| polled.calls("set") + polled.calls("get") > 1000).await;
    let after = commands(&watched);
    source.let_through(2);
    within(PATIENCE, owner).await.unwrap().unwrap();
    within(PATIENCE, leader).await.unwrap().unwrap();
    for value in all(pollers).await {
        assert_eq!(value.unwrap(), 1);
    }
    for value in all(waiters).await {
        assert_eq!(value.unwrap(), 1);
    }
    assert_eq!(source.loads(), 2, "one each");
    let sent = after - before;
    assert!(sent <= 20, "{sent} commands meanwhile");
}

#[tokio::test]
async fn everyone_loads_when_their_patience_ends_together() {
    let server = Server::start();
    let mut redis = connection(&server).await;
    let source = Source::gated();
    assert!(take(&mut redis, "lock:row", "owner", LONG).await.unwrap());
    let waiters: Vec<_> = (0..WAITERS)
        .map(|_| tokio::spawn(load_on_timeout(redis.clone(), source.clone(), "row", SHORT)))
        .collect();
    for _ in 0..WAITERS {
        source.began().await;
    }
    assert_eq!(source.most(), WAITERS, "the herd that the lock was to prevent");
    source.let_through(WAITERS);
    all(waiters).await;
}

#[tokio::test]
async fn of_those_whose_budget_ends_one_in_each_process_loads() {
    let server = Server::start();
    let (first, second) = (process(&server).await, process(&server).await);
    let (slow, source) = (Source::gated(), Source::gated());
    let leader = first.spawn(leased(LONG), &slow);
    slow.began().await;
    let waiters = second.spawn_many(WAITERS, leased(LONG).wait(SHORT), &source);
    source.began().await;
    source.let_through(WAITERS);
    for value in all(waiters).await {
        assert_eq!(value.unwrap(), 1);
    }
    // Whoever calls in the very moment in which the load begins may take the next one.
    assert!(source.loads() <= 2, "{} loads for {WAITERS} callers", source.loads());
    assert_eq!(source.most(), 1, "never two at once");
    slow.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
}
