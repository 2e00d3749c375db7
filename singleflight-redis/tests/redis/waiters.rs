//! Those who wait, and what they are told over the subscription connection.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::backend::{Change, Published};
use singleflight_core::error::BackendErrorKind;
use singleflight_core::{LeaseBackend, SingleFlight};
use singleflight_tests::server::Server;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::rig::{MINUTE, PATIENCE, Source, connect, engine, hasty, offer, patient, put, soon, take};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn channels(server: &Server) -> usize {
    server.say(&["PUBSUB", "CHANNELS", "*"]).matches("}w").count()
}

#[tokio::test]
async fn p23_a_channel_ends_a_while_after_its_last_watcher() {
    let server = Server::start();
    let backend = connect(&server).await;
    assert_eq!(server.calls("subscribe"), 0, "nobody waits, nothing is subscribed to");
    let watches = [backend.watch("k").await.unwrap(), backend.watch("k").await.unwrap()];
    let other = backend.watch("other").await.unwrap();
    assert_eq!((channels(&server), backend.channels()), (2, 2));
    drop(watches);
    drop(backend.watch("k").await.unwrap());
    assert_eq!(server.calls("subscribe"), 2, "a channel that is there is used again");
    soon("the channel is gone", async || channels(&server) == 1).await;
    drop(other);
    soon("nothing is left", async || channels(&server) + backend.channels() == 0).await;
}

#[tokio::test]
async fn p20_a_late_unsubscribe_does_not_end_the_next_subscription() {
    let server = Server::start();
    let backend = connect(&server).await;
    for _ in 0..4 {
        drop(backend.watch("k").await.unwrap());
        // About when the channel is given up, so that both orders of give up and watch again happen.
        tokio::time::sleep(SECOND + fastrand::u32(0..4) * MS).await;
        let mut watch = backend.watch("k").await.unwrap();
        put(&backend, "k", "value").await;
        assert_eq!(timeout(PATIENCE, watch.changed()).await.expect("it is heard"), Change::Published);
    }
}

#[tokio::test]
async fn p20_a_cut_subscription_wakes_everyone_and_comes_back() {
    let server = Server::start();
    let backend = connect(&server).await;
    let mut watches = [backend.watch("a").await.unwrap(), backend.watch("b").await.unwrap()];
    for round in 0..3 {
        server.cut("pubsub");
        for watch in &mut watches {
            let heard = timeout(PATIENCE, watch.changed()).await.expect("it is woken");
            assert_eq!(heard, Change::Unknown, "round {round}");
        }
        // Once more when the subscription is back: what was told in between is to be looked for.
        for watch in &mut watches {
            let heard = timeout(PATIENCE, watch.changed()).await.expect("it is woken again");
            assert_eq!(heard, Change::Unknown, "round {round}");
        }
        put(&backend, "a", "value").await;
        assert_eq!(timeout(PATIENCE, watches[0].changed()).await.expect("it is heard"), Change::Published);
    }
}

#[tokio::test]
async fn p20_without_the_right_to_channels_values_are_stored_and_waiters_poll() {
    let server = Server::start();
    server.say(&["ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "resetchannels"]);
    let url = server.url().replace("redis://", "redis://mute:pw@");
    let backend = patient(&url).connect().await.unwrap();
    let token = take(&backend, "k").await;
    let refused = backend.watch("k").await.unwrap_err();
    assert_eq!(refused.kind(), BackendErrorKind::Refused, "{refused}");
    assert_eq!(backend.publish(offer("k", token, "value")).await.unwrap(), Published::Stored);
    assert!(backend.link().unwrap().is_up());
    let flights = singleflight_core::SingleFlight::on(backend);
    let source = Source::default();
    let other = singleflight_core::SingleFlight::on(patient(&url).connect().await.unwrap());
    let (a, b) = tokio::join!(source.call(&flights, "p", 100 * MS), source.call(&other, "p", 100 * MS));
    assert_eq!((a.unwrap(), b.unwrap(), source.loads()), (1, 1, 1));
}

#[tokio::test]
async fn p20_a_frozen_server_does_not_hold_a_watch() {
    let server = Server::start();
    let backend = hasty(&server.url()).await;
    soon("there is a connection for it", async || backend.watch("k").await.is_ok()).await;
    server.freeze();
    let start = Instant::now();
    assert!(backend.watch("other").await.is_err());
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    server.thaw();
    soon("watches begin again", async || backend.watch("other").await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_case_30_waiters_notice_a_fill_although_their_connection_was_cut() {
    let server = Server::start();
    let (leader, waiter, source) = (engine(&server).await, engine(&server).await, Source::default());
    for round in 1..=5 {
        let key = format!("k{round}");
        let gate = Arc::new(Semaphore::new(0));
        let leads = tokio::spawn({
            let (leader, source, key, gate) = (leader.clone(), source.clone(), key.clone(), gate.clone());
            async move { source.call_until(&leader, &key, || async { drop(gate.acquire().await) }).await }
        });
        soon("the load begins", async || source.loads() == round).await;
        let waits = tokio::spawn({
            let (waiter, source, key) = (waiter.clone(), source.clone(), key.clone());
            async move { source.call(&waiter, &key, MS).await }
        });
        let channel = format!("sf:{{test:{key}}}w");
        let waited_for = async || server.say(&["PUBSUB", "CHANNELS", &channel]).contains(&channel);
        soon("someone waits", waited_for).await;
        server.cut("pubsub");
        gate.add_permits(1);
        assert_eq!(leads.await.unwrap().unwrap(), round);
        let ended = Instant::now();
        assert_eq!(waits.await.unwrap().unwrap(), round);
        assert!(ended.elapsed() < PATIENCE, "before the lease would have ended: {:?}", ended.elapsed());
    }
}

#[tokio::test]
async fn p05_case_30_copies_are_flushed_when_the_subscription_is_cut() {
    let server = Server::start();
    let backend = Arc::new(connect(&server).await);
    let near = SingleFlight::builder().backend(backend).namespace("test").near(100, MINUTE).build();
    let (other, source) = (engine(&server).await, Source::default());
    let figures = || near.statistics().near.unwrap();
    let hears = async || {
        source.call(&near, "k", MS).await.unwrap();
        figures().hears && figures().copies > 0
    };
    soon("there is a copy and changes are heard", hears).await;
    let flushes = figures().flushes;
    server.cut("pubsub");
    soon("the copies are gone", async || figures().flushes > flushes).await;
    soon("there is another and changes are heard", hears).await;
    let loads = source.loads();
    other.invalidate("k").await.unwrap();
    soon("the copy is dropped", async || {
        source.call(&near, "k", MS).await.unwrap();
        source.loads() > loads
    })
    .await;
}
