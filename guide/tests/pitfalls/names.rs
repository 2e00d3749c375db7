//! Locks that are shared by keys that have nothing to do with each other.

use singleflight_tests::server::Server;
use singleflight_tests::source::Source;

use crate::recipes::{bucket, bucketed};
use crate::rig::{LONG, connection, leased, process};

const KEY: &str = "user:17";
/// Adds up to the same.
const OTHER: &str = "user:71";

#[tokio::test]
async fn one_keys_load_blocks_another_key_of_its_bucket() {
    assert_eq!(bucket(KEY), bucket(OTHER));
    let server = Server::start();
    let redis = connection(&server).await;
    let (slow, source) = (Source::gated(), Source::quick());
    let owner = tokio::spawn(bucketed(redis.clone(), slow.clone(), KEY, "one"));
    slow.began().await;
    assert_eq!(bucketed(redis, source.clone(), OTHER, "two").await.unwrap(), None, "nobody loads it");
    assert_eq!(source.loads(), 0, "and nobody is allowed to");
    slow.let_through(1);
    assert_eq!(owner.await.unwrap().unwrap(), Some(1));
}

#[tokio::test]
async fn each_key_has_a_lease_of_its_own() {
    let server = Server::start();
    let (first, second) = (process(&server).await, process(&server).await);
    let (slow, source) = (Source::gated(), Source::quick());
    let owner = first.spawn_key(KEY, leased(LONG), &slow);
    slow.began().await;
    for process in [&first, &second] {
        assert_eq!(process.call_key(OTHER, leased(LONG), &source).await.unwrap(), 1);
    }
    assert_eq!(source.loads(), 1);
    slow.let_through(1);
    assert_eq!(owner.await.unwrap().unwrap(), 1);
}
