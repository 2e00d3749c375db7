//! The suite that every backend must pass.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::LeaseBackend;
use singleflight_core::testing::conformance::Harness;
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;

use crate::rig::connect;

struct Rig {
    backend: Arc<RedisBackend>,
    server: Server,
}

#[async_trait]
impl Harness for Rig {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.backend.clone()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.assert_every_key_ends();
        }
    }
}

async fn rig() -> Rig {
    let server = Server::start();
    let backend = connect(&server).await;
    Rig { backend: Arc::new(backend), server }
}

singleflight_core::conformance_suite!(rig());
