//! The primary that sentinels name, whichever that is.

use std::time::Duration;

use singleflight_core::LeaseBackend;
use singleflight_core::backend::{Acquire, Change, Token};
use singleflight_redis::ConnectErrorKind;
use singleflight_tests::sentinel::{NAME, Watched};

use crate::conformance::conform;
use crate::load::{Load, recovered};
use crate::rig::{KIND, PATIENCE, bytes, connect_to, patient, put, soon, until, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sentinels_name_conforms_and_its_loss_is_made_good_under_load() {
    let mut watched = Watched::start();
    let backend = connect_to(&watched.url()).await;
    conform(backend.clone()).await;
    until("the sentinels agree", || watched.primary().is_some()).await;
    let mut watch = backend.watch("heard").await.unwrap();
    let old = watched.primary().unwrap();
    watched.servers[old].assert_every_key_ends();
    let load = Load::begin(&watched.url(), 2).await;
    until("there are calls", || load.calls() > 200).await;
    watched.servers[old].kill();
    let took = recovered(&backend).await;
    let before = load.calls();
    until("there are calls of the new primary", || load.calls() > before + 200).await;
    println!("primary killed: {}; written again after {took:.1?}", load.end().await);
    until("the sentinels agree on another", || watched.primary() == Some(1 - old)).await;
    assert!(watched.servers[1 - old].say(&["ROLE"]).contains("master"));
    // Who waited was told to look, and hears again.
    watch.changed().await;
    let heard = async || {
        put(&backend, "heard", "value").await;
        tokio::time::timeout(Duration::from_millis(200), watch.changed()).await.is_ok()
    };
    soon("messages arrive again", heard).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_is_demoted_is_left_under_load() {
    let watched = Watched::start();
    let backend = connect_to(&watched.url()).await;
    put(&backend, "k", "value").await;
    until("the sentinels agree", || watched.primary().is_some()).await;
    let old = watched.primary().unwrap();
    let load = Load::begin(&watched.url(), 2).await;
    until("there are calls", || load.calls() > 200).await;
    watched.sentinels[0].say(&["SENTINEL", "FAILOVER", NAME]);
    until("the sentinels agree on another", || watched.primary() == Some(1 - old)).await;
    let obeys = || watched.servers[old].try_say(&["ROLE"]).is_some_and(|role| role.contains("slave"));
    // A sentinel sees that it is none with its next look, every ten seconds.
    within(3 * PATIENCE, "the old one obeys", obeys).await;
    let took = recovered(&backend).await;
    let before = load.calls();
    until("there are calls of the new primary", || load.calls() > before + 200).await;
    println!("primary demoted: {}; written again after {took:.1?}", load.end().await);
    assert_eq!(bytes(backend.read("k").await).unwrap(), "value");
}

/// An old primary that lives on does not say that it has been replaced before a sentinel makes it a replica; this one
/// never will be.
#[tokio::test]
async fn p25_an_old_primary_that_does_not_know_of_its_fall_is_left() {
    let watched = Watched::start();
    let (backend, near) = (connect_to(&watched.url()).await, connect_to(&watched.url()).await);
    put(&backend, "k", "value").await;
    let mut watch = near.watch("heard").await.unwrap();
    until("the sentinels agree", || watched.primary().is_some()).await;
    let old = watched.primary().unwrap();
    watched.servers[old].say(&["ACL", "SETUSER", "default", "-replicaof", "-slaveof"]);
    watched.sentinels[0].say(&["SENTINEL", "FAILOVER", NAME]);
    until("the sentinels agree on another", || watched.primary() == Some(1 - old)).await;

    // What is written from now on is to be written there.
    soon("it is written to the new primary", async || {
        let token = Token::random();
        let request = Acquire::new("moved", token, Duration::from_millis(100), KIND);
        let _ = backend.acquire(request).await;
        watched.servers[1 - old].keys().iter().any(|name| name == "sf:{moved}l")
    })
    .await;
    let heard = async || {
        put(&backend, "heard", "value").await;
        tokio::time::timeout(Duration::from_millis(200), watch.changed()).await == Ok(Change::Published)
    };
    soon("messages of the new primary arrive", heard).await;
    assert!(watched.servers[old].say(&["ROLE"]).contains("master"), "it does not know to this day");
    // And stays there.
    let took = recovered(&backend).await;
    println!("written again after {took:.1?}");
}

#[tokio::test]
async fn sentinels_are_asked_in_turn_and_few_rights_are_enough() {
    let watched = Watched::steady();
    for sentinel in &watched.sentinels {
        let rights = ["-@all", "+auth", "+sentinel|get-master-addr-by-name"];
        sentinel.say(&[&["ACL", "SETUSER", "few", "on", ">p#w"], &rights[..]].concat());
        sentinel.say(&["ACL", "SETUSER", "default", "off"]);
    }
    let dead = "redis+sentinel://127.0.0.1:1,";
    let url = watched.url().replace("redis+sentinel://", dead);
    let backend =
        patient(&format!("{url}/1?sentinel_user=few&sentinel_password=p%23w")).connect().await.unwrap();
    put(&backend, "k", "value").await;
    assert!(watched.servers[0].say(&["INFO", "keyspace"]).contains("db1:keys=1"));
    let error =
        patient(&format!("{url}?sentinel_user=few&sentinel_password=wrong")).connect().await.unwrap_err();
    assert_eq!(error.kind(), ConnectErrorKind::Denied, "{error}");
    assert!(!format!("{error:?}").contains("wrong"));
    let other = format!("{}?sentinel_user=few&sentinel_password=p%23w", url.replace(NAME, "other"));
    let error = patient(&other).connect().await.unwrap_err();
    assert!(error.to_string().contains("know no primary"), "{error}");
}
