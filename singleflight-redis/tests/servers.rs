//! The promises on real servers, in the time that they take. Each test has a server, or names of its own on those that
//! all tests of a process share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::LeaseBackend;
use singleflight_redis::{RedisBackend, RedisBuilder};
use singleflight_tests::harness::Harness;
use singleflight_tests::server::Server;

/// A busy machine is not what these tests are about.
const PATIENCE: Duration = Duration::from_secs(20);

/// Servers, and connections to them as processes have them.
struct Rig<S: Servers = Server> {
    ways: Vec<Arc<dyn LeaseBackend>>,
    next: AtomicUsize,
    /// How the names of this test's records begin: others may use the same servers.
    prefix: String,
    servers: S,
}

/// What a rig has to know of its servers.
trait Servers: Send + Sync + 'static {
    fn builder(&self) -> RedisBuilder;
    fn keys(&self) -> Vec<String>;
    fn assert_every_key_ends(&self);
}

impl Servers for Server {
    fn builder(&self) -> RedisBuilder {
        RedisBackend::builder(&self.url())
    }

    fn keys(&self) -> Vec<String> {
        self.keys()
    }

    fn assert_every_key_ends(&self) {
        self.assert_every_key_ends();
    }
}

impl<S: Servers> Rig<S> {
    async fn on(servers: S) -> Self {
        static TESTS: AtomicUsize = AtomicUsize::new(0);
        let prefix = format!("sf{}:", TESTS.fetch_add(1, Ordering::Relaxed));
        let mut ways: Vec<Arc<dyn LeaseBackend>> = Vec::new();
        for _ in 0..4 {
            let builder = servers.builder().prefix(&prefix).dial_timeout(PATIENCE);
            let backend = builder.response_timeout(PATIENCE).connect().await;
            ways.push(Arc::new(backend.expect("the servers can be reached")));
        }
        Self { ways, next: AtomicUsize::new(0), prefix, servers }
    }
}

#[async_trait]
impl<S: Servers> Harness for Rig<S> {
    fn backend(&self) -> Arc<dyn LeaseBackend> {
        self.ways[self.next.fetch_add(1, Ordering::Relaxed) % self.ways.len()].clone()
    }

    async fn leases(&self) -> usize {
        let keys = self.servers.keys();
        keys.iter().filter(|key| key.starts_with(&self.prefix) && key.ends_with("}l")).count()
    }

    fn namespace(&self) -> &str {
        "test"
    }
}

impl<S: Servers> Drop for Rig<S> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.servers.assert_every_key_ends();
        }
    }
}

/// On Redis.
mod redis {
    use super::{Rig, Server};

    singleflight_tests::promises!(real => Rig::on(Server::start()).await);
    singleflight_tests::wire_promises!(real => Rig::on(Server::start()).await);
}

/// On Valkey.
mod valkey {
    use super::{Rig, Server};

    singleflight_tests::promises!(
        real [ignore = "needs a Valkey server, which `scripts/test --all` fetches"] =>
            Rig::on(Server::valkey()).await
    );
    singleflight_tests::wire_promises!(
        real [ignore = "needs a Valkey server, which `scripts/test --all` fetches"] =>
            Rig::on(Server::valkey()).await
    );
}

/// On the primary that sentinels name.
mod sentinel {
    use super::{Arc, RedisBackend, RedisBuilder, Rig, Servers};
    use singleflight_tests::sentinel::Watched;

    impl Servers for Arc<Watched> {
        fn builder(&self) -> RedisBuilder {
            RedisBackend::builder(&self.url())
        }

        fn keys(&self) -> Vec<String> {
            self.servers[0].keys()
        }

        fn assert_every_key_ends(&self) {
            self.servers[0].assert_every_key_ends();
        }
    }

    singleflight_tests::promises!(
        real [ignore = "takes its time; `scripts/test --all` runs it"] => Rig::on(Watched::shared()).await
    );
    singleflight_tests::wire_promises!(
        real [ignore = "takes its time; `scripts/test --all` runs it"] => Rig::on(Watched::shared()).await
    );
}

/// On a cluster.
#[cfg(feature = "cluster")]
mod cluster {
    use super::{Arc, RedisBackend, RedisBuilder, Rig, Servers};
    use singleflight_tests::cluster::Cluster;

    impl Servers for Arc<Cluster> {
        fn builder(&self) -> RedisBuilder {
            RedisBackend::builder(&self.url())
        }

        fn keys(&self) -> Vec<String> {
            Cluster::keys(self).into_iter().collect()
        }

        fn assert_every_key_ends(&self) {
            Cluster::assert_every_key_ends(self);
        }
    }

    singleflight_tests::promises!(
        real [ignore = "takes its time; `scripts/test --all` runs it"] => Rig::on(Cluster::shared()).await
    );
    singleflight_tests::wire_promises!(
        real [ignore = "takes its time; `scripts/test --all` runs it"] => Rig::on(Cluster::shared()).await
    );
}

/// On a server by TLS.
#[cfg(feature = "tls")]
mod tls {
    use super::{RedisBackend, RedisBuilder, Rig, Servers};
    use singleflight_tests::tls::TlsServer;

    impl Servers for TlsServer {
        fn builder(&self) -> RedisBuilder {
            let us = self.authority.sign();
            let builder = RedisBackend::builder(&self.url()).ca(self.authority.certificate().as_bytes());
            builder.identity(us.certificate.as_bytes(), us.key.as_bytes())
        }

        fn keys(&self) -> Vec<String> {
            self.server.keys()
        }

        fn assert_every_key_ends(&self) {
            self.server.assert_every_key_ends();
        }
    }

    singleflight_tests::promises!(
        real [ignore = "takes its time; `scripts/test --all` runs it"] => Rig::on(TlsServer::with(&[])).await
    );
    singleflight_tests::wire_promises!(
        real [ignore = "takes its time; `scripts/test --all` runs it"] => Rig::on(TlsServer::with(&[])).await
    );
}
