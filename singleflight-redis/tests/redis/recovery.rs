//! Servers that come back loading, or are replaced by a replica; and that nothing is left after it.

use std::time::Duration;

use singleflight_core::SingleFlight;
use singleflight_tests::server::Server;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::proxy::Proxy;
use crate::rig::{PATIENCE, Source, connect, engine, engine_on, nothing_is_left, patient, soon};

const MS: Duration = Duration::from_millis(1);

/// A server with so much on its disk that it takes ten seconds to load it.
async fn loaded_slowly(dir: &str) -> Server {
    let options =
        ["--dir", dir, "--dbfilename", "slow.rdb", "--loading-process-events-interval-bytes", "1024"];
    let server = Server::with(&[&options[..], &["--key-load-delay", "1000"]].concat());
    let fill = "for i = 1, 10000 do redis.call('SET', 'filler:' .. i, 'x', 'PX', 600000) end";
    server.say(&["EVAL", fill, "0"]);
    server
}

#[tokio::test]
async fn p25_a_server_that_is_loading_is_left_until_it_has_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = loaded_slowly(dir.path().to_str().unwrap()).await;
    let (flights, source) = (engine(&server).await, Source::default());
    assert_eq!(source.call(&flights, "k", MS).await.unwrap(), 1);
    assert!(server.say(&["SAVE"]).starts_with("+OK"));
    server.kill();
    server.revive();
    assert!(server.say(&["GET", "k"]).starts_with("-LOADING"), "it loads");
    let mut calls = 0;
    let link = flights.backend().link().unwrap();
    let mut worst = Duration::ZERO;
    while server.say(&["GET", "k"]).starts_with("-LOADING") {
        calls += 1;
        let start = Instant::now();
        let answer = source.call(&flights, &format!("k{calls}"), Duration::ZERO).await;
        worst = worst.max(start.elapsed());
        assert_eq!(answer.unwrap(), calls + 1, "callers have their values meanwhile");
        if calls == 11 {
            server.say(&["CONFIG", "SET", "key-load-delay", "0"]);
        }
        sleep(MS).await;
    }
    println!("{calls} calls while it was loading, the slowest in {worst:?}");
    assert!(calls > 10 && worst < PATIENCE / 2, "nobody waits for it: {worst:?}");
    let probe = async || {
        source.call(&flights, "probe", Duration::ZERO).await.unwrap();
        link.is_up()
    };
    soon("a call finds it again", probe).await;
    assert_eq!(source.call(&flights, "k", MS).await.unwrap(), 1, "what it had is there");
    nothing_is_left(&server, &[&flights]).await;
}

/// A primary and its replica, which has all that the primary has.
async fn pair() -> (Server, Server) {
    let (primary, replica) = (Server::start(), Server::start());
    replica.say(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    let follows = async || replica.say(&["INFO", "replication"]).contains("master_link_status:up");
    soon("the replica follows", follows).await;
    (primary, replica)
}

/// Two processes' ways through a network that leads to whoever is said to be the primary.
async fn through(proxy: &Proxy) -> [SingleFlight; 2] {
    let one = patient(&proxy.url()).connect().await.unwrap();
    let other = patient(&proxy.url()).connect().await.unwrap();
    [engine_on(one), engine_on(other)]
}

#[tokio::test]
async fn p25_a_replica_that_is_promoted_goes_on_where_the_primary_died() {
    let (mut primary, replica) = pair().await;
    let proxy = Proxy::start(&primary).await;
    let ([one, other], source, gate) = (through(&proxy).await, Source::default(), Semaphore::new(0));
    assert_eq!(source.call(&one, "k", MS).await.unwrap(), 1);
    let fails_over = async {
        soon("the load begins", async || source.loads() == 2).await;
        let replicated =
            || ["k}v", "during}l"].map(|name| replica.keys().iter().any(|key| key.ends_with(name)));
        soon("all has arrived at the replica", async || replicated() == [true, true]).await;
        primary.kill();
        proxy.lead_to(&replica);
        replica.say(&["REPLICAOF", "NO", "ONE"]);
        let up = async || [&one, &other].iter().all(|flights| flights.backend().link().unwrap().is_up());
        soon("it is found", up).await;
        gate.add_permits(1);
    };
    let during = source.call_until(&one, "during", || async { drop(gate.acquire().await) });
    let (during, ()) = tokio::join!(during, fails_over);
    assert_eq!(during.unwrap(), 2, "the caller has its value");
    for flights in [&one, &other] {
        assert_eq!(source.call(flights, "k", MS).await.unwrap(), 1, "what was stored is there");
        assert_eq!(
            source.call(flights, "during", MS).await.unwrap(),
            2,
            "and its lease was, so it is stored"
        );
    }
    assert_eq!(source.loads(), 2);
    nothing_is_left(&replica, &[&one, &other]).await;
}

#[tokio::test]
async fn p25_a_replica_that_is_promoted_late_refuses_writes_until_then() {
    let (mut primary, replica) = pair().await;
    let proxy = Proxy::start(&primary).await;
    let ([one, other], source) = (through(&proxy).await, Source::default());
    assert_eq!(source.call(&one, "k", MS).await.unwrap(), 1);
    soon("it is replicated", async || replica.keys().iter().any(|key| key.ends_with("k}v"))).await;
    primary.kill();
    proxy.lead_to(&replica);
    // Reads it answers; that it is no primary only a write shows.
    let mut round = 0;
    for flights in [&one, &other] {
        let link = flights.backend().link().unwrap();
        soon("it is noticed", async || {
            round += 1;
            source.call(flights, &format!("k{round}"), Duration::ZERO).await.unwrap();
            !link.is_up()
        })
        .await;
    }
    sleep(300 * MS).await;
    assert!([&one, &other].iter().all(|flights| !flights.backend().link().unwrap().is_up()));
    replica.say(&["REPLICAOF", "NO", "ONE"]);
    for flights in [&one, &other] {
        let link = flights.backend().link().unwrap();
        soon("the link is up again", async || link.is_up()).await;
    }
    let loads = source.loads();
    let new = source.call(&one, "new", MS).await.unwrap();
    assert_eq!(source.call(&other, "new", MS).await.unwrap(), new, "they share values again");
    assert_eq!(source.loads(), loads + 1);
    nothing_is_left(&replica, &[&one, &other]).await;
}

#[tokio::test]
async fn p25_commands_in_flight_when_the_server_dies_are_given_up_at_once() {
    let mut server = Server::start();
    let (flights, source) = (engine(&server).await, Source::default());
    source.call(&flights, "warm", MS).await.unwrap();
    server.freeze();
    let calls: Vec<_> = (0..50)
        .map(|at| {
            let (flights, source) = (flights.clone(), source.clone());
            tokio::spawn(async move { source.call(&flights, &format!("k{at}"), Duration::ZERO).await })
        })
        .collect();
    // Each has asked and waits for its answer, patiently.
    soon("all are under way", async || flights.in_progress() == 50).await;
    let killed = Instant::now();
    server.kill();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    println!("50 calls in flight answered {:?} after the server died", killed.elapsed());
    assert!(killed.elapsed() < PATIENCE / 2, "nobody waits for a time-out of {PATIENCE:?}");
    assert_eq!(source.loads(), 51);
    server.revive();
    let link = flights.backend().link().unwrap();
    soon("the link is up again", async || link.is_up()).await;
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p26_dialling_a_frozen_server_ends() {
    let server = Server::start();
    server.freeze();
    let start = Instant::now();
    let dialled = patient(&server.url()).dial_timeout(300 * MS).connect().await;
    assert!(dialled.is_err() && start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    server.thaw();
    drop(connect(&server).await);
}
