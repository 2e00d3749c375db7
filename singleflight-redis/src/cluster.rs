//! The nodes of a cluster: one connection to all of them for data, and one to any of them for subscriptions.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis::cluster::ClusterClient;
use redis::{ConnectionInfo, RedisError};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::dial::{Patience, tcp};
use crate::target::Seeds;

/// So often a step is tried again when a node sends it elsewhere or is lost.
const RETRIES: u32 = 2;
/// Milliseconds between these attempts.
const PAUSE: (u64, u64) = (20, 100);

/// The nodes of a cluster, as far as the URL names them.
pub(crate) struct Nodes {
    infos: Vec<ConnectionInfo>,
    /// Which is to have the next subscriptions: another than before, which may be why they are dialled.
    turn: AtomicUsize,
    client: ClusterClient,
    patience: Patience,
}

impl Nodes {
    /// The infos are as our connections are to be.
    pub(crate) fn new(seeds: Seeds, patience: Patience) -> Result<Self, RedisError> {
        let Patience { response, dial } = patience;
        let builder = ClusterClient::builder(seeds.infos.clone())
            .tcp_settings(tcp())
            .connection_timeout(dial)
            .response_timeout(response)
            // One attempt that is not answered and another that is.
            .overall_response_timeout(Some(response * 5 / 2))
            .retries(RETRIES)
            .min_retry_wait(PAUSE.0)
            .max_retry_wait(PAUSE.1);
        #[cfg(feature = "tls")]
        let builder = match seeds.certificates {
            Some(certificates) => builder.certs(certificates),
            None => builder,
        };
        // Processes begin with different nodes.
        let turn = AtomicUsize::new(fastrand::usize(0..seeds.infos.len().max(1)));
        Ok(Self { infos: seeds.infos, turn, client: builder.build()?, patience })
    }

    /// Each of them, beginning with another than last time.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = &ConnectionInfo> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % self.infos.len().max(1);
        let (before, from) = self.infos.split_at(first);
        from.iter().chain(before)
    }

    /// A connection for data. Nothing is ever subscribed to on it: when a slot moves, the server ends subscriptions
    /// unasked, and the client would take that for the answer to a command.
    pub(crate) async fn dial(&self) -> Result<Connection, RedisError> {
        // The nodes that the URL names, at once, then those that they name.
        let limit = self.patience.dial * 2 + self.patience.response;
        let dialled = timeout(limit, self.client.get_async_connection()).await;
        let late = |_| RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        Ok(Connection::Cluster(dialled.map_err(late)??))
    }
}
