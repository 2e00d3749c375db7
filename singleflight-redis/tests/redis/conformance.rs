//! The suite that every backend must pass.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::LeaseBackend;
use singleflight_core::testing::conformance::{Harness, InRealTime, checks, in_real_time};
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

/// Holds a backend to all of it at once, where servers are too dear to have some for each check.
pub(crate) async fn conform(backend: RedisBackend) {
    let mut under_way = JoinSet::new();
    for check in checks() {
        let backend = ready(backend.clone());
        under_way.spawn(async move { check.run(&in_real_time(backend).await).await });
    }
    assert!(under_way.len() > 40);
    while let Some(done) = under_way.join_next().await {
        if let Err(error) = done {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

async fn rig() -> Rig {
    let server = Server::start();
    Rig { harness: in_real_time(connect(&server)).await, server }
}

singleflight_core::conformance_suite!(rig());
