//! What is said of servers that are not what the URL says they are: each with what to write instead.

use std::error::Error;

use singleflight_core::LeaseBackend;
use singleflight_redis::ConnectErrorKind::{Denied, Misconfigured, Unreachable};
use singleflight_tests::cluster::Cluster;
use singleflight_tests::sentinel::{NAME, Watched};
use singleflight_tests::server::Server;

use crate::rig::{patient, refused, soon};

#[tokio::test]
async fn servers_of_another_kind() {
    let (open, shut) = (Server::start(), Server::with(&["--requirepass", "x"]));
    let with =
        |server: &Server, scheme: &str, path: &str| patient(&(server.url().replace("redis:", scheme) + path));
    refused(with(&open, "redis:", "/99"), Misconfigured, "no database of the number").await;
    refused(with(&open, "redis+cluster:", ""), Misconfigured, "write `redis://`").await;
    refused(with(&shut, "redis+cluster:", ""), Denied, "does not accept").await;
    // One with a password is asked for that first, or after, as its make will have it.
    refused(with(&open, "redis+sentinel:", "/main"), Misconfigured, "is no sentinel").await;
    let cluster = Cluster::shared();
    let node = patient(&cluster.nodes[0].url()).connect().await.unwrap();
    soon("a key of another node is asked for", async || {
        let key = format!("{}", fastrand::u32(..));
        let read = node.read(&key).await;
        read.is_err_and(|error| error.to_string().contains("write `redis+cluster://`"))
    })
    .await;
}

#[tokio::test]
async fn sentinels_and_whom_they_name() {
    let mut watched = Watched::start();
    let url = watched.url();
    let sentinel = watched.sentinels[0].url();
    refused(patient(&sentinel), Misconfigured, "write `redis+sentinel://").await;
    let cluster = sentinel.replace("redis:", "redis+cluster:");
    refused(patient(&cluster), Misconfigured, "write `redis+sentinel://").await;

    // What one of them says counts for more than that others are away.
    let other = url.replace(&format!("/{NAME}"), ",127.0.0.1:1/other");
    refused(patient(&other), Unreachable, "know no primary").await;
    watched.servers[0].say(&["CONFIG", "SET", "requirepass", "pw"]);
    let primary = format!("the primary at 127.0.0.1:{}", watched.servers[0].port());
    refused(patient(&url), Denied, &primary).await;
    for server in &mut watched.servers {
        server.kill();
    }
    refused(patient(&url), Unreachable, &format!("{primary}, which the sentinels at")).await;
    for sentinel in &watched.sentinels {
        sentinel.say(&["ACL", "SETUSER", "default", "off"]);
    }
    refused(patient(&url), Denied, "`sentinel_user` and `sentinel_password`").await;
    for sentinel in &mut watched.sentinels {
        sentinel.kill();
    }
    refused(patient(&url), Unreachable, "one of the sentinels at").await;
}

/// Who connects in the background learns the reason where a call is told that it goes without Redis.
#[tokio::test]
async fn the_reason_is_told_by_the_first_step_that_fails() {
    let server = Server::with(&["--requirepass", "x"]);
    let backend = patient(&server.url()).connect_in_background().unwrap();
    soon("a step fails for it", async || {
        let error = backend.read("k").await.unwrap_err();
        error.source().is_some_and(|source| source.to_string().contains("does not accept"))
    })
    .await;
}
