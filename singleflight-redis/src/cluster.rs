//! The nodes of a cluster: connections to all of them for data, and one to any of them for subscriptions.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{ConnectionInfo, ErrorKind, Pipeline, RedisError, ServerErrorKind, Value};
use tokio::time::{sleep, timeout};

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
    repeating: ClusterClient,
    once: ClusterClient,
    patience: Patience,
}

impl Nodes {
    /// The infos are as our connections are to be.
    pub(crate) fn new(seeds: Seeds, patience: Patience) -> Result<Self, RedisError> {
        let client = |retries| {
            let builder = ClusterClient::builder(seeds.infos.clone())
                .tcp_settings(tcp())
                .connection_timeout(patience.dial)
                .response_timeout(patience.response)
                // One attempt that is not answered and another that is.
                .overall_response_timeout(Some(patience.response * 5 / 2))
                .retries(retries)
                .min_retry_wait(PAUSE.0)
                .max_retry_wait(PAUSE.1);
            #[cfg(feature = "tls")]
            let builder = match seeds.certificates.clone() {
                Some(certificates) => builder.certs(certificates),
                None => builder,
            };
            builder.build()
        };
        let (repeating, once) = (client(RETRIES)?, client(0)?);
        // Processes begin with different nodes.
        let turn = AtomicUsize::new(fastrand::usize(0..seeds.infos.len().max(1)));
        Ok(Self { infos: seeds.infos, turn, repeating, once, patience })
    }

    /// Each of them, beginning with another than last time.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = &ConnectionInfo> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % self.infos.len().max(1);
        let (before, from) = self.infos.split_at(first);
        from.iter().chain(before)
    }

    /// Connections for data. Nothing is ever subscribed to on them: when a slot moves, the server ends subscriptions
    /// unasked, and the client would take that for the answer to a command.
    pub(crate) async fn dial(&self) -> Result<Connection, RedisError> {
        // The nodes that the URL names, at once, then those that they name.
        let limit = self.patience.dial * 2 + self.patience.response;
        let dials = async {
            tokio::try_join!(self.repeating.get_async_connection(), self.once.get_async_connection())
        };
        let late = |_| RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        let (repeating, once) = timeout(limit, dials).await.map_err(late)??;
        Ok(Connection::Cluster(Box::new(Connections { repeating, once })))
    }
}

/// Connections to all nodes. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct Connections {
    /// Sends again what a node that was lost may have done.
    repeating: ClusterConnection,
    /// Does not; its client knows no other way than to be told when it is made.
    once: ClusterConnection,
}

impl Connections {
    /// Sends commands, again where a node was lost before it answered.
    ///
    /// While a slot moves, a node sends who asks for a key that has moved already to the other, which answers one command
    /// at a time: of several sent together all but the first come back. They are then sent one after the other.
    pub(crate) async fn send(&mut self, commands: &Pipeline) -> Result<Vec<Value>, RedisError> {
        match self.repeating.req_packed_commands(commands, 0, commands.len()).await {
            Err(error) if error.redirect_node().is_some() && commands.len() > 1 => {
                let mut answers = Vec::with_capacity(commands.len());
                for command in commands.cmd_iter() {
                    answers.push(self.repeating.req_packed_command(command).await?);
                }
                Ok(answers)
            }
            answers => answers,
        }
    }

    /// Sends commands, again only where a node said that it did not do them.
    ///
    /// One that is sent to another node for a single command does not go there: the scripts of which this is used name
    /// several keys, not all of which are there, and for these that node has no answer yet.
    pub(crate) async fn send_once(&mut self, commands: &Pipeline) -> Result<Vec<Value>, RedisError> {
        for _ in 0..RETRIES {
            match self.once.req_packed_commands(commands, 0, commands.len()).await {
                Err(error) if is_undone(&error) => {
                    sleep(Duration::from_millis(fastrand::u64(PAUSE.0..PAUSE.1))).await;
                }
                answers => return answers,
            }
        }
        self.once.req_packed_commands(commands, 0, commands.len()).await
    }
}

/// Whether a node said that it did nothing, and may do it a moment later, or another may.
fn is_undone(error: &RedisError) -> bool {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};

    let kinds = [BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain];
    matches!(error.kind(), ErrorKind::Server(kind) if kinds.contains(&kind))
}
