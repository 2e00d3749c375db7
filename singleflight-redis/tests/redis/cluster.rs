//! Many nodes as one.

use std::time::Duration;

use singleflight_core::LeaseBackend;
use singleflight_core::error::BackendErrorKind;
use singleflight_redis::RedisBackend;
use singleflight_tests::cluster::Cluster;
use tokio::time::{Instant, sleep, timeout};

use crate::conformance::conform;
use crate::load::{Load, recovered};
use crate::rig::{PATIENCE, bytes, connect_to, patient, put, soon, until, within};
use crate::start::rights;

const LARGE: usize = 100_000;

/// Keys that lie on each of the primaries at the start, and the name of the record of each.
fn one_of_each(cluster: &Cluster) -> [String; 3] {
    [0, 1, 2].map(|owner| {
        let mut keys = (0..).map(|number| format!("spread{number}"));
        keys.find(|key| cluster.owner(cluster.slot(&format!("sf:{{{key}}}v"))) == owner).unwrap()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p28_a_cluster_conforms_and_every_node_is_used() {
    let cluster = Cluster::steady();
    let backend = connect_to(&cluster.url()).await;
    conform(backend.clone()).await;
    let keys = one_of_each(&cluster);
    for key in &keys {
        for size in [10, LARGE] {
            for node in &cluster.nodes {
                node.say(&["SCRIPT", "FLUSH"]);
            }
            put(&backend, key, vec![7; size]).await;
            assert_eq!(bytes(backend.read(key).await).unwrap(), vec![7; size], "{key}");
        }
    }
    assert!(cluster.nodes[..3].iter().all(|node| !node.keys().is_empty()));
    // One node is enough to find the others, and a listener at any hears of all.
    for node in [0, 4] {
        let url = cluster.nodes[node].url().replace("redis:", "redis+cluster:");
        let other = connect_to(&url).await;
        for key in &keys {
            let mut watch = other.watch(key).await.unwrap();
            backend.invalidate(key).await.unwrap();
            timeout(PATIENCE, watch.changed()).await.expect("what happens at another node is heard of");
        }
    }
    assert!(cluster.keys().iter().all(|key| !key.contains("}x")), "nothing staged is left");
    cluster.assert_every_key_ends();
}

#[tokio::test]
async fn the_rights_in_the_documentation_are_enough_on_a_cluster() {
    let cluster = Cluster::steady();
    let more = crate::start::documented("//! ACL SETUSER name ");
    for node in &cluster.nodes {
        node.say(&[&["ACL", "SETUSER", "few", "on", ">pw"], &rights()[..], &more[..]].concat());
        // Known to some versions only.
        node.say(&["ACL", "SETUSER", "few", "+client|setinfo"]);
    }
    let url = cluster.url().replace("cluster://", "cluster://few:pw@");
    let backend = patient(&url).connect().await.unwrap();
    for key in one_of_each(&cluster) {
        for size in [10, LARGE] {
            put(&backend, &key, vec![7; size]).await;
        }
        let mut watch = backend.watch(&key).await.unwrap();
        backend.invalidate(&key).await.unwrap();
        timeout(PATIENCE, watch.changed()).await.expect("it is heard of");
    }
    for node in &cluster.nodes {
        let log = node.say(&["ACL", "LOG"]);
        assert!(!log.contains("reason"), "something was refused: {log}");
    }
    let wrong = patient(&url.replace("pw@", "wrong@")).connect().await.unwrap_err();
    assert_eq!(wrong.kind(), singleflight_redis::ConnectErrorKind::Denied, "{wrong} {wrong:?}");
    assert!(!format!("{wrong:?}").contains("wrong"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_a_record_that_has_moved_before_its_slot_is_read() {
    let cluster = Cluster::steady();
    let backend = connect_to(&cluster.url()).await;
    let [key, ..] = one_of_each(&cluster);
    put(&backend, &key, "value").await;
    let slot = cluster.slot(&format!("sf:{{{key}}}v"));
    let mut looked = 0;
    cluster.migrate(slot, 0, 1, || {
        let read = || tokio::runtime::Handle::current().block_on(backend.read(&key));
        assert_eq!(bytes(tokio::task::block_in_place(read)).unwrap(), "value");
        looked += 1;
    });
    assert_eq!(looked, 2, "before and after the record moved");
    // A node that has not heard of it sends who asks back to where it was.
    let (name, port) = (format!("sf:{{{key}}}v"), format!(":{}\r", cluster.nodes[1].port()));
    let others = || cluster.nodes.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, node)| node);
    until("all know", || others().all(|node| node.say(&["GET", &name]).contains(&port))).await;
    put(&backend, &key, "another").await;
    assert_eq!(bytes(backend.read(&key).await).unwrap(), "another");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_a_slot_that_moves_under_load_costs_no_call() {
    let cluster = Cluster::steady();
    let backend = connect_to(&cluster.url()).await;
    let load = Load::begin(&cluster.url(), 2).await;
    until("there are calls", || load.calls() > 200).await;
    for number in 0..3 {
        let slot = cluster.slot(&format!("sf:{{test:k{number}}}v"));
        let from = cluster.owner(slot);
        // A record that is there all along is read whatever is where.
        let before = load.calls();
        let mut moves = 0;
        cluster.migrate(slot, from, (from + 1) % 3, || {
            moves += 1;
            let enough = before + 50 * moves;
            while moves < 3 && load.calls() < enough {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let before = load.calls();
        until("there are calls of the new owner", || load.calls() > before + 100).await;
        let key = format!("test:k{number}");
        soon("it can be written there", async || backend.invalidate(&key).await.is_ok()).await;
    }
    println!("three slots moved: {}", load.end().await);
    cluster.assert_every_key_ends();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_a_primary_killed_under_load_costs_no_call() {
    let mut cluster = Cluster::start();
    let backend = connect_to(&cluster.url()).await;
    let load = Load::begin(&cluster.url(), 2).await;
    until("there are calls", || load.calls() > 200).await;
    cluster.nodes[0].kill();
    let took = recovered(&backend).await;
    let before = load.calls();
    until("there are calls of the new primary", || load.calls() > before + 200).await;
    println!("primary of a cluster killed: {}; written again after {took:.1?}", load.end().await);
    assert!(cluster.nodes[3].say(&["ROLE"]).contains("master"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_a_node_that_is_away_does_no_harm_to_the_keys_of_others() {
    let mut cluster = Cluster::start();
    for node in &cluster.nodes {
        // Otherwise the others refuse to serve, too, for a moment.
        node.say(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    let keys = one_of_each(&cluster);
    let backend = connect_to(&cluster.url()).await;
    for key in &keys {
        put(&backend, key, "value").await;
    }
    cluster.nodes[0].kill();
    let mut away = 0;
    let start = Instant::now();
    while let Err(error) = backend.invalidate(&keys[0]).await {
        assert_eq!(error.kind(), BackendErrorKind::Refused, "{error:?}: the cluster is there");
        away += 1;
        for key in &keys[1..] {
            assert_eq!(bytes(backend.read(key).await).unwrap(), "value");
        }
        assert!(start.elapsed() < 3 * PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    println!("{away} times away in {:?}", start.elapsed());
    assert!(away > 0 && backend.link().unwrap().is_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p25_a_primary_frozen_under_load_costs_no_call() {
    let cluster = Cluster::start();
    let backend = connect_to(&cluster.url()).await;
    let load = Load::begin(&cluster.url(), 2).await;
    until("there are calls", || load.calls() > 200).await;
    cluster.nodes[0].freeze();
    let promoted = || cluster.nodes[3].say(&["ROLE"]).contains("master");
    within(3 * PATIENCE, "its replica is promoted", promoted).await;
    // A silent node holds up whoever dials as long as that may take, so that is not to be long.
    let other = RedisBackend::builder(&cluster.url()).connect_in_background().unwrap();
    let took = recovered(&other).await;
    let before = load.calls();
    until("there are calls of the new primary", || load.calls() > before + 200).await;
    println!(
        "primary of a cluster frozen: {}; written again {took:.1?} after the promotion",
        load.end().await
    );
    cluster.nodes[0].thaw();
    recovered(&backend).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_subscriptions_move_when_their_node_dies() {
    let mut cluster = Cluster::start();
    let [_, key, another] = one_of_each(&cluster);
    let (near, far) = (connect_to(&cluster.url()).await, connect_to(&cluster.url()).await);
    let mut watches =
        [(far.watch(&key).await.unwrap(), &key), (far.watch(&another).await.unwrap(), &another)];
    let listening = |cluster: &Cluster, at: usize| {
        let channels = cluster.nodes[at].say(&["PUBSUB", "CHANNELS"]);
        channels.contains(&key)
    };
    let at = (0..6).find(|at| listening(&cluster, *at)).expect("one node has the subscription");
    cluster.nodes[at].kill();
    // Of the two, one whose own node lives.
    let (watch, key) = &mut watches[usize::from(at == 1)];
    timeout(PATIENCE, watch.changed()).await.expect("the loss is told");
    let alive: Vec<usize> = (0..6).filter(|other| *other != at).collect();
    until("another node has it", || alive.iter().any(|at| listening(&cluster, *at))).await;
    let heard = async || {
        let _ = near.invalidate(key).await;
        timeout(Duration::from_millis(200), watch.changed()).await.is_ok()
    };
    soon("messages arrive again", heard).await;
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_named() {
    let error =
        RedisBackend::builder("redis+cluster://:secret@127.0.0.1:1,127.0.0.1:2").connect().await.unwrap_err();
    assert_eq!(error.kind(), singleflight_redis::ConnectErrorKind::Unreachable);
    assert!(error.to_string().contains("127.0.0.1:1,127.0.0.1:2"), "{error}");
    assert!(!format!("{error:?}").contains("secret"));
}

/// What a fleet costs a cluster grows with the product of both; BENCHMARKS.md reckons with these. The client keeps
/// connections to replicas, too, though nothing is asked of them.
#[tokio::test]
async fn a_process_has_two_connections_to_each_node_and_one_for_what_it_waits_for() {
    let cluster = Cluster::steady();
    let clients = |kind: &str| {
        let lists = cluster.nodes.iter().map(|node| node.say(&["CLIENT", "LIST", "TYPE", kind]));
        lists.map(|list| list.lines().filter(|line| line.starts_with("id=")).count()).collect::<Vec<_>>()
    };
    // Those with which the cluster was started are closed by and by.
    soon("nobody but who asks", async || clients("normal") == [1; 6]).await;
    let backend = connect_to(&cluster.url()).await;
    for key in one_of_each(&cluster) {
        put(&backend, &key, "value").await;
    }
    soon("two to each node", async || clients("normal") == [3; 6]).await;
    let mut watches = Vec::new();
    for key in one_of_each(&cluster) {
        watches.push(backend.watch(&key).await.unwrap());
    }
    assert_eq!(clients("pubsub").iter().sum::<usize>(), 1, "to whichever node, for the keys of all");
}
