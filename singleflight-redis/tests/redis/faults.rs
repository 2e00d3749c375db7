//! What happens to the server, and what its users notice.

use std::time::Duration;

use singleflight_core::LeaseBackend;
use singleflight_core::backend::{Abandon, Acquire, Acquired, Published, Released, Token};
use singleflight_core::error::BackendErrorKind;
use singleflight_tests::server::Server;
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{
    KIND, MINUTE, PATIENCE, Source, bytes, connect, engine, engine_on, hasty, nothing_is_left, offer, put,
    soon, take,
};

const MS: Duration = Duration::from_millis(1);
const LARGE: usize = 100_000;

#[tokio::test]
async fn p25_a_server_that_forgot_its_scripts_is_told_them_within_the_call() {
    let server = Server::start();
    let backend = connect(&server).await;
    for size in [10, LARGE] {
        let value = vec![7; size];
        server.say(&["SCRIPT", "FLUSH"]);
        let token = take(&backend, "k").await;
        server.say(&["SCRIPT", "FLUSH"]);
        assert_eq!(backend.publish(offer("k", token, value.clone())).await.unwrap(), Published::Stored);
        assert_eq!(bytes(backend.read("k").await).unwrap(), value);
    }
    server.assert_every_key_ends();
}

#[tokio::test]
async fn p25_a_flushed_server_refuses_older_loads_and_goes_on() {
    let server = Server::start();
    let (flights, source) = (engine(&server).await, Source::default());
    let flush = || async {
        server.say(&["FLUSHALL"]);
    };
    let call = source.call_until(&flights, "k", flush).await;
    assert_eq!(call.unwrap(), 1, "the caller has its value");
    assert_eq!(source.call(&flights, "k", MS).await.unwrap(), 2, "which is not stored");
    assert_eq!(source.call(&flights, "k", MS).await.unwrap(), 2);
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p25_a_connection_that_is_cut_is_replaced_unnoticed() {
    let server = Server::start();
    let (flights, source) = (engine(&server).await, Source::default());
    for round in 1..=20 {
        let key = format!("k{round}");
        assert_eq!(source.call(&flights, &key, MS).await.unwrap(), round);
        server.cut("normal");
        assert_eq!(source.call(&flights, &key, MS).await.unwrap(), round, "from the store, not loaded again");
    }
    let figures = flights.statistics().total;
    assert_eq!((figures.fills, figures.hits), (20, 20), "{figures:?}");
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_calls_under_way_survive_cuts() {
    let server = Server::start();
    let (flights, source) = (engine(&server).await, Source::default());
    let callers: Vec<_> = (0..20)
        .map(|caller| {
            let (flights, source) = (flights.clone(), source.clone());
            tokio::spawn(async move {
                for round in 0..50 {
                    source.call(&flights, &format!("k{}", (caller + round) % 10), MS).await.unwrap();
                }
            })
        })
        .collect();
    for _ in 0..20 {
        server.cut("normal");
        sleep(5 * MS).await;
    }
    for caller in callers {
        timeout(3 * PATIENCE, caller).await.expect("nobody hangs").unwrap();
    }
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p26_case_31_a_dead_server_costs_calls_nothing_and_is_found_again() {
    let mut server = Server::start();
    let (flights, source) = (engine(&server).await, Source::default());
    source.call(&flights, "k", MS).await.unwrap();
    server.kill();
    let mut costs = Vec::new();
    let outage = Instant::now();
    for round in 0.. {
        if outage.elapsed() > Duration::from_secs(10) {
            break;
        }
        let start = Instant::now();
        source.call(&flights, &format!("k{round}"), Duration::ZERO).await.unwrap();
        costs.push(start.elapsed());
        sleep(MS).await;
    }
    let loads = source.loads();
    for _ in 0..100 {
        source.call(&flights, "k0", Duration::ZERO).await.unwrap();
    }
    assert!(source.loads() <= loads + 1, "values are kept for a moment meanwhile");
    costs.sort();
    let (median, worst) = (costs[costs.len() / 2], costs[costs.len() - 1]);
    println!("during the outage: {} calls, median {median:?}, worst {worst:?}", costs.len());
    assert!(median < PATIENCE / 20 && worst < PATIENCE / 2, "nobody pays for a time-out of {PATIENCE:?}");
    server.revive();
    let link = flights.backend().link().unwrap();
    let back = soon("the link is up again", async || link.is_up()).await;
    println!("found again after {back:?}");
    let token = Token::random();
    let answer = flights.backend().acquire(Acquire::new("another", token, MINUTE, KIND)).await;
    assert_eq!(answer.unwrap(), Acquired::Granted);
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p26_case_39_a_frozen_server_opens_the_breaker_and_a_probe_closes_it() {
    let server = Server::start();
    let (flights, source) = (engine_on(hasty(&server.url()).await), Source::default());
    source.call(&flights, "k", MS).await.unwrap();
    server.freeze();
    let start = Instant::now();
    let link = flights.backend().link().unwrap();
    let mut calls = 0;
    while link.is_up() {
        calls += 1;
        source.call(&flights, &format!("f{calls}"), Duration::ZERO).await.unwrap();
        assert!(start.elapsed() < PATIENCE, "the breaker opens within a bound");
    }
    println!("opened after {calls} calls and {:?}", start.elapsed());
    let start = Instant::now();
    for round in 0..200 {
        source.call(&flights, &format!("g{round}"), Duration::ZERO).await.unwrap();
    }
    println!("then 200 calls in {:?}", start.elapsed());
    // A time-out each would be 50 seconds.
    assert!(start.elapsed() < PATIENCE, "calls do not pay for it: {:?}", start.elapsed());
    server.thaw();
    let back = soon("the link is up again", async || {
        source.call(&flights, "k", Duration::ZERO).await.unwrap();
        link.is_up()
    })
    .await;
    println!("found again after {back:?}");
    let read = async || flights.backend().read("test:k").await.is_ok_and(|entry| entry.is_some());
    soon("what it had is there", read).await;
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p25_a_server_that_became_a_replica_is_left_until_it_is_none() {
    let (server, primary) = (Server::start(), Server::start());
    let backend = connect(&server).await;
    let link = backend.link().unwrap();
    take(&backend, "k").await;
    server.say(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    let error = backend.acquire(Acquire::new("k2", Token::random(), MINUTE, KIND)).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Unavailable, "{error}");
    soon("the link is down", async || !link.is_up()).await;
    sleep(300 * MS).await;
    assert!(!link.is_up(), "it does not come back as long as it is a replica");
    server.say(&["REPLICAOF", "NO", "ONE"]);
    soon("the link is up again", async || link.is_up()).await;
    take(&backend, "k3").await;
}

#[tokio::test]
async fn p25_a_full_server_is_no_error_to_the_caller() {
    let server = Server::with(&["--maxmemory-policy", "noeviction"]);
    let (flights, source) = (engine(&server).await, Source::default());
    let backend = connect(&server).await;
    let (small, large) = (take(&backend, "small").await, take(&backend, "large").await);
    server.say(&["CONFIG", "SET", "maxmemory", "1"]);
    for (key, token, size) in [("small", small, 10), ("large", large, LARGE)] {
        let error = backend.publish(offer(key, token, vec![7; size])).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Refused, "{error}");
        let released = backend.abandon(Abandon::new(key, token)).await.unwrap();
        assert_eq!(released, Released::Freed, "the refused publish has left the lease of {key} as it was");
    }
    assert_eq!(source.call(&flights, "k", MS).await.unwrap(), 1);
    server.say(&["CONFIG", "SET", "maxmemory", "0"]);
    put(&backend, "small", "value").await;
    assert!(backend.link().unwrap().is_up() && flights.backend().link().unwrap().is_up());
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p25_case_34_eviction_costs_loads_and_nothing_else() {
    // Valkey's backlog grows to 10 MB and counts as memory used.
    let server = Server::with(&["--maxmemory-policy", "allkeys-lru", "--repl-backlog-size", "16384"]);
    let backend = connect(&server).await;
    // Servers differ in what they need for themselves.
    let limit = server.info("memory", "used_memory") + 3_000_000;
    server.say(&["CONFIG", "SET", "maxmemory", &limit.to_string()]);
    let mut refused = 0;
    for round in 0..1500_u32 {
        let key = format!("k{}", round % 1000);
        let token = Token::random();
        let request = Acquire::new(&key, token, MINUTE, KIND).forced(true);
        let value = format!("{key}{}", "x".repeat(5_000));
        let stored = match backend.acquire(request).await {
            Ok(Acquired::Granted) => backend.publish(offer(&key, token, value)).await.map(drop),
            answer => answer.map(drop),
        };
        // Evicted between two steps: the lease, or the record on its way; or all that could be was.
        if let Err(error) = stored {
            assert_eq!(error.kind(), BackendErrorKind::Refused, "{error}");
            refused += 1;
        }
        if let Some(value) = bytes(backend.read(&key).await) {
            assert!(value.starts_with(key.as_bytes()) && value.len() == key.len() + 5_000, "another's value");
        }
    }
    assert!(server.info("stats", "evicted_keys") > 0, "the test presses hard enough");
    assert!(refused < 500, "{refused} of 1500");
    server.assert_every_key_ends();
}

#[tokio::test]
async fn foreign_records_are_reported_and_stay() {
    let server = Server::start();
    let backend = connect(&server).await;
    let token = take(&backend, "k").await;
    server.say(&["LPUSH", "sf:{k}v", "someone else's"]);
    let error = backend.read("k").await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Refused, "{error}");
    let error = backend.acquire(Acquire::new("k", Token::random(), MINUTE, KIND)).await.unwrap_err();
    assert_eq!(error.kind(), BackendErrorKind::Refused, "{error}");
    for size in [10, LARGE] {
        let error = backend.publish(offer("k", token, vec![7; size])).await.unwrap_err();
        assert_eq!(error.kind(), BackendErrorKind::Refused, "{error}");
    }
    assert_eq!(backend.abandon(Abandon::new("k", token)).await.unwrap(), Released::Freed);
    assert!(server.say(&["LLEN", "sf:{k}v"]).starts_with(":1"));
    assert!(!server.keys().iter().any(|key| key.contains("}x") || key.contains("}l")), "{:?}", server.keys());
}

#[tokio::test]
async fn junk_is_a_miss_and_is_replaced() {
    let server = Server::start();
    let backend = connect(&server).await;
    for junk in ["", "junk", &"j".repeat(100)] {
        server.say(&["SET", "sf:{k}v", junk, "PX", "60000"]);
        assert!(backend.read("k").await.unwrap().is_none());
        let token = Token::random();
        let answer = backend.acquire(Acquire::new("k", token, MINUTE, KIND)).await.unwrap();
        assert_eq!(answer, Acquired::Granted);
        assert_eq!(backend.publish(offer("k", token, "good")).await.unwrap(), Published::Stored);
        assert_eq!(bytes(backend.read("k").await).unwrap(), "good");
    }
}

#[tokio::test]
async fn p08_a_lease_without_an_end_is_taken_over() {
    let server = Server::start();
    let backend = connect(&server).await;
    take(&backend, "k").await;
    server.say(&["PERSIST", "sf:{k}l"]);
    take(&backend, "k").await;
    server.assert_every_key_ends();
}

#[tokio::test]
async fn p18_a_value_without_an_end_is_not_served() {
    let server = Server::start();
    let backend = connect(&server).await;
    put(&backend, "k", "value").await;
    server.say(&["PERSIST", "sf:{k}v"]);
    assert!(backend.read("k").await.unwrap().is_none());
    put(&backend, "k", "value").await;
    server.assert_every_key_ends();
}

#[tokio::test]
async fn p05_an_invalidation_that_could_not_be_sent_is_sent_later() {
    let server = Server::start();
    let (flights, source) = (engine_on(hasty(&server.url()).await), Source::default());
    source.call(&flights, "k", MS).await.unwrap();
    server.freeze();
    let failed = flights.invalidate("k").await;
    assert_eq!(failed.unwrap_err().kind(), BackendErrorKind::Timeout);
    // Whatever was sent before the server froze is not to be what removes it.
    server.thaw();
    let other = connect(&server).await;
    soon("the value is gone", async || other.read("test:k").await.unwrap().is_none()).await;
    soon("nothing is left to be sent", async || flights.backend().link().unwrap().unsent().is_empty()).await;
}

#[tokio::test]
async fn records_of_all_sizes_come_back_and_leave_no_staging_behind() {
    let server = Server::start();
    let backend = connect(&server).await;
    for size in [0, 1, 4063, 4064, 4065, LARGE, 3_000_000] {
        let value: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        put(&backend, "k", value.clone()).await;
        assert_eq!(bytes(backend.read("k").await).unwrap(), value);
        let late = Token::random();
        assert_eq!(backend.publish(offer("k", late, value)).await.unwrap(), Published::Refused);
        assert_eq!(server.keys(), ["sf:{k}v"], "after {size} bytes");
    }
    server.assert_every_key_ends();
}
