//! The promises on real servers, in the time that they take. Each test has a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::LeaseBackend;
use singleflight_redis::RedisBackend;
use singleflight_tests::harness::Harness;
use singleflight_tests::server::Server;

/// A busy machine is not what these tests are about.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, and connections to it as processes have them.
struct Rig {
    ways: Vec<Arc<dyn LeaseBackend>>,
    next: AtomicUsize,
    server: Server,
}

impl Rig {
    async fn on(server: Server) -> Self {
        let mut ways: Vec<Arc<dyn LeaseBackend>> = Vec::new();
        for _ in 0..4 {
            let builder = RedisBackend::builder(&server.url()).dial_timeout(PATIENCE);
            let backend = builder.response_timeout(PATIENCE).connect().await;
            ways.push(Arc::new(backend.expect("the server can be reached")));
        }
        Self { ways, next: AtomicUsize::new(0), server }
    }
}

#[async_trait]
impl Harness for Rig {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.ways[self.next.fetch_add(1, Ordering::Relaxed) % self.ways.len()].clone()
    }

    async fn leases(&self) -> usize {
        self.server.keys().iter().filter(|key| key.ends_with("}l")).count()
    }

    fn namespace(&self) -> &str {
        "test"
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.assert_every_key_ends();
        }
    }
}

/// On Redis.
mod redis {
    use super::{Rig, Server};

    singleflight_tests::promises!(real => Rig::on(Server::start()).await);
    singleflight_tests::near_promises!(real => Rig::on(Server::start()).await);
}

/// On Valkey.
mod valkey {
    use super::{Rig, Server};

    singleflight_tests::promises!(
        real [ignore = "needs a Valkey server, which `scripts/test --all` fetches"] =>
            Rig::on(Server::valkey()).await
    );
    singleflight_tests::near_promises!(
        real [ignore = "needs a Valkey server, which `scripts/test --all` fetches"] =>
            Rig::on(Server::valkey()).await
    );
}
