//! Start-up: what connects, what does not, and what is said of it.

use std::process::Command;
use std::time::Duration;

use singleflight_core::LeaseBackend;
use singleflight_redis::{ConnectErrorKind, RedisBackend, from_env};
use singleflight_tests::server::Server;
use tokio::time::Instant;

use crate::rig::{PATIENCE, Source, patient, put, soon};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn passwords_are_used_and_never_shown() {
    let server = Server::with(&["--requirepass", "p?hunter#2"]);
    let url = server.url().replace("redis://", "valkey://:p%3Fhunter%232@");
    let builder = patient(&url);
    let backend = builder.clone().connect().await.unwrap();
    put(&backend, "k", "value").await;
    drop(backend.watch("k").await.unwrap());
    for shown in [format!("{builder:?}"), format!("{backend:?}"), format!("{:?}", backend.link())] {
        assert!(!shown.contains("hunter"), "{shown}");
    }
    for (wrong, kind) in
        [("valkey://:p%3Fhunter@", ConnectErrorKind::Denied), ("valkey://", ConnectErrorKind::Denied)]
    {
        let url = server.url().replace("redis://", wrong);
        let error = patient(&url).connect().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let shown = format!("{error} {error:?} {source:?}");
        assert!(!shown.contains("hunter") && shown.contains("does not accept"), "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_and_does_not_keep_us_waiting() {
    let mut server = Server::start();
    let url = server.url().replace("redis://", "redis://:secret@");
    server.kill();
    let start = Instant::now();
    let error = patient(&url).connect().await.unwrap_err();
    assert!(start.elapsed() < PATIENCE / 2);
    assert_eq!(error.kind(), ConnectErrorKind::Unreachable);
    let address = format!("127.0.0.1:{}", server.port());
    assert!(error.to_string().contains(&address) && !format!("{error:?}").contains("secret"), "{error:?}");
    let backend = patient(&server.url()).connect_in_background().unwrap();
    soon("the link is down", async || !backend.link().unwrap().is_up()).await;
    server.revive();
    soon("the link is up", async || backend.link().unwrap().is_up()).await;
    put(&backend, "k", "value").await;
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    for builder in [
        RedisBackend::builder("redis://127.0.0.1").prefix("a{b"),
        RedisBackend::builder("redis://127.0.0.1").response_timeout(Duration::ZERO),
        RedisBackend::builder("redis://127.0.0.1").dial_timeout(Duration::ZERO),
        RedisBackend::builder("http://127.0.0.1"),
    ] {
        assert!(builder.clone().connect_in_background().is_err(), "{builder:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_connections_carry_data_and_one_lost_does_no_harm() {
    let server = Server::start();
    let backend = patient(&server.url()).connections(3).connect().await.unwrap();
    let clients = || {
        let list = server.say(&["CLIENT", "LIST", "TYPE", "normal"]);
        // Without the one that asks.
        list.lines().filter(|line| line.starts_with("id=")).count() - 1
    };
    soon("all three are there", async || clients() == 3).await;
    for round in 0..30 {
        if round % 10 == 5 {
            server.cut("normal");
            // As a call does, on each connection: a look is repeated where one turns out to be cut, a question for a lease
            // is not.
            for _ in 0..3 {
                backend.read("k").await.unwrap();
            }
        }
        put(&backend, "k", format!("{round}")).await;
    }
    soon("all three are there again", async || clients() == 3).await;
    drop(backend);
    soon("and end with the backend", async || clients() == 0).await;
}

#[tokio::test]
async fn unix_sockets_and_databases() {
    let files = tempfile::tempdir().unwrap();
    let socket = files.path().join("redis.sock").to_string_lossy().into_owned();
    let server = Server::with(&["--unixsocket", &socket, "--requirepass", "p?w"]);
    for (database, url) in [
        ("db1", format!("redis+unix://{socket}?db=1&pass=p%3Fw&namespace=a")),
        ("db2", server.url().replace("redis://", "redis://:p%3Fw@") + "/2"),
    ] {
        let backend = patient(&url).connect().await.unwrap();
        put(&backend, "k", "value").await;
        let mut watch = backend.watch("k").await.unwrap();
        backend.invalidate("k").await.unwrap();
        watch.changed().await;
        put(&backend, "k", "value").await;
        let wrong = patient(&url.replace("p%3Fw", "wrong")).connect().await.unwrap_err();
        assert_eq!(wrong.kind(), ConnectErrorKind::Denied, "{database}: {wrong}");
        let other = patient(&url.replace("1&", "3&").replace("/2", "/3")).connect().await.unwrap();
        assert!(other.read("k").await.unwrap().is_none(), "{database} is not the database that is read");
    }
    drop(server);
    let gone = patient(&format!("unix://{socket}")).connect().await.unwrap_err();
    assert!(
        gone.kind() == ConnectErrorKind::Unreachable && gone.to_string().contains("redis.sock"),
        "{gone}"
    );
}

/// What the child of the next test does; nothing when run by itself.
#[tokio::test]
async fn from_env_in_a_process_of_its_own() {
    let Ok(expect) = std::env::var("SINGLEFLIGHT_TEST_EXPECTS") else { return };
    let mut made = from_env().await;
    // The time-outs are as users have them: a busy machine may be late for some.
    let start = Instant::now();
    while made.as_ref().is_err_and(|error| error.kind() == ConnectErrorKind::Unreachable) {
        assert!(start.elapsed() < PATIENCE, "{made:?}");
        made = from_env().await;
    }
    match made {
        Ok(flights) => {
            assert_eq!(expect, "value");
            let source = Source::default();
            soon("it is stored", async || {
                source.call(&flights, "k", Duration::ZERO).await.unwrap();
                let stored = ["k", "shop:k", "other:k"].map(|name| flights.backend().read(name));
                let [own, shop, other] = stored;
                [own.await, shop.await, other.await].iter().any(|entry| matches!(entry, Ok(Some(_))))
            })
            .await;
            flights.install().unwrap();
        }
        Err(error) => assert!(error.to_string().contains(&expect), "{error}"),
    }
}

#[test]
fn the_environment_chooses() {
    let server = Server::start();
    let url = server.url();
    for (backend, namespace, expect) in [
        (&*url, Some("shop"), "value"),
        (&format!("{url}?namespace=other"), None, "value"),
        (&*url, None, "`SINGLEFLIGHT_NAMESPACE` is not set"),
        ("memory:", None, "value"),
        ("redis+sentinel://host", Some("shop"), "no name of a primary"),
    ] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "start::from_env_in_a_process_of_its_own"]);
        child.env("SINGLEFLIGHT_BACKEND", backend).env("SINGLEFLIGHT_TEST_EXPECTS", expect);
        child.env_remove("SINGLEFLIGHT_NAMESPACE");
        if let Some(namespace) = namespace {
            child.env("SINGLEFLIGHT_NAMESPACE", namespace);
        }
        let output = child.output().unwrap();
        assert!(output.status.success(), "{backend}: {}", String::from_utf8_lossy(&output.stdout));
    }
    let mut keys = server.keys();
    keys.sort();
    assert_eq!(keys, ["sf:{other:k}v", "sf:{shop:k}v"]);
    server.assert_every_key_ends();
}

/// What the crate's documentation says a user needs.
pub(crate) fn rights() -> Vec<&'static str> {
    documented("//! ACL SETUSER name on >password ")
}

/// What the line of the documentation says that begins so.
pub(crate) fn documented(start: &str) -> Vec<&'static str> {
    let mut lines = include_str!("../../src/lib.rs").lines();
    let line = lines.rfind(|line| line.starts_with(start)).expect("the documentation has the line");
    line[start.len()..].split_whitespace().collect()
}

#[tokio::test]
async fn the_rights_in_the_documentation_are_enough() {
    let server = Server::start();
    server.say(&[&["ACL", "SETUSER", "few", "on", ">pw"], &rights()[..]].concat());
    let url = server.url().replace("redis://", "redis://few:pw@");
    let backend = patient(&url).connect().await.unwrap();
    for size in [10, 10_000] {
        put(&backend, "k", vec![7; size]).await;
        assert!(backend.read("k").await.unwrap().is_some());
    }
    let mut watch = backend.watch("k").await.unwrap();
    backend.invalidate("k").await.unwrap();
    watch.changed().await;
    let token = crate::rig::take(&backend, "k").await;
    backend.renew("k", token, SECOND).await.unwrap();
    let abandon = singleflight_core::backend::Abandon::new("k", token).failed("why", SECOND);
    backend.abandon(abandon).await.unwrap();
    let log = server.say(&["ACL", "LOG"]);
    assert!(!log.contains("reason"), "something was refused: {log}");
}
