//! How often the server is asked how long a record has left.

use std::time::{Duration, Instant};

use singleflight_core::LeaseBackend;
use singleflight_core::backend::{Publish, Token};
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;

use crate::rig::{MINUTE, bytes, connect, offer, put, take};

/// Stores a value that is fresh for `soft`.
async fn put_for(backend: &RedisBackend, value: &'static str, soft: Duration) -> Token {
    let token = take(backend, "k").await;
    let offer = offer("k", token, value);
    backend.publish(Publish::new("k", token, offer.payload, offer.stamp, soft, MINUTE)).await.unwrap();
    token
}

#[tokio::test]
async fn a_record_that_is_read_often_is_one_command_a_read() {
    let server = Server::start();
    let (writer, reader) = (connect(&server).await, connect(&server).await);
    put(&writer, "k", "value").await;
    // Scripts ask too.
    let before = ["get", "pttl"].map(|command| server.calls(command));
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(bytes(reader.read("k").await).as_deref(), Some(&b"value"[..]));
    }
    // Once, and again after each second.
    let most = 1 + start.elapsed().as_secs();
    let asked = server.calls("pttl") - before[1];
    assert!((1..=most).contains(&asked), "{asked} in {:?}", start.elapsed());
    assert_eq!(server.calls("get") - before[0], 100);
}

/// What was said of a record is not taken for said of the one that takes its place.
#[tokio::test]
async fn a_record_that_was_replaced_is_as_fresh_as_the_server_says() {
    let server = Server::start();
    let (writer, reader) = (connect(&server).await, connect(&server).await);
    for (value, soft) in [("first", MINUTE), ("second", Duration::ZERO), ("third", MINUTE)] {
        let grant = put_for(&writer, value, soft).await;
        for _ in 0..3 {
            let entry = reader.read("k").await.unwrap().expect("it is there");
            assert_eq!((entry.stamp.grant, entry.is_fresh()), (grant, !soft.is_zero()), "{value}");
            assert!(entry.fresh_for() <= soft && entry.gone_in() <= MINUTE, "{entry:?}");
        }
    }
    writer.invalidate("k").await.unwrap();
    assert!(reader.read("k").await.unwrap().is_none());
}

/// The server's word counts, whatever was said before: the record is gone when it is gone there.
#[tokio::test]
async fn a_record_that_ended_before_its_time_is_gone() {
    let server = Server::start();
    let backend = connect(&server).await;
    put(&backend, "k", "value").await;
    assert!(backend.read("k").await.unwrap().is_some());
    server.say(&["DEL", "sf:{k}v"]);
    assert!(backend.read("k").await.unwrap().is_none());
}
