//! The suite that every backend must pass.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::LeaseBackend;
use singleflight_core::testing::conformance::{Harness, checks};
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;
use tokio::task::JoinSet;

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

/// Holds a backend to all of it at once, where servers are too dear to have some for each check.
pub(crate) async fn conform(backend: RedisBackend) {
    struct Shared(Arc<RedisBackend>);

    #[async_trait]
    impl Harness for Shared {
        fn backend(&self) -> Arc<dyn LeaseBackend> {
            self.0.clone()
        }

        async fn pass(&self, time: Duration) {
            tokio::time::sleep(time).await;
        }
    }

    let (backend, mut under_way) = (Arc::new(backend), JoinSet::new());
    for check in checks() {
        let backend = backend.clone();
        under_way.spawn(async move { check.run(&Shared(backend)).await });
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
    let backend = connect(&server).await;
    Rig { backend: Arc::new(backend), server }
}

singleflight_core::conformance_suite!(rig());
