//! The suite that every backend must pass.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::LeaseBackend;
use singleflight_core::testing::conformance::{Check, Harness, InRealTime, checks, in_real_time};
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;
use tokio::task::JoinSet;

use crate::rig::connect;

struct Rig {
    harness: InRealTime,
    server: Server,
}

#[async_trait]
impl Harness for Rig {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.harness.backend()
    }

    async fn pass(&self, time: Duration) {
        self.harness.pass(time).await;
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.assert_every_key_ends();
        }
    }
}

/// These ask so much that beside them others would not be done in their time.
const RACES: [&str; 2] =
    ["p01_grants_exclude_each_other_in_a_race", "p05_nothing_older_than_an_invalidation_is_read"];

/// Holds a backend to all of it, where servers are too dear to have some for each check: to a few checks at a time, and
/// to the races in the end.
pub(crate) async fn conform(backend: RedisBackend) {
    let (races, others): (Vec<_>, Vec<_>) =
        checks().into_iter().partition(|check| RACES.contains(&check.name()));
    assert!(races.len() == RACES.len() && others.len() > 40);
    run(&backend, others, 8).await;
    run(&backend, races, 1).await;
}

/// Runs these checks, so many at a time.
async fn run(backend: &RedisBackend, checks: Vec<Check>, at_once: usize) {
    let mut under_way = JoinSet::new();
    let mut left = checks.into_iter();
    loop {
        for check in left.by_ref().take(at_once - under_way.len()) {
            let backend = ready(backend.clone());
            under_way.spawn(async move { check.run(&in_real_time(backend).await).await });
        }
        match under_way.join_next().await {
            Some(Ok(())) => {}
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            None => return,
        }
    }
}

async fn rig() -> Rig {
    let server = Server::start();
    Rig { harness: in_real_time(connect(&server)).await, server }
}

singleflight_core::conformance_suite!(rig());
