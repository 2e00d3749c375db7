//! What carries data: a connection to one server, or those to the nodes of a cluster as one.

use std::fmt;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisError, Value};

/// A connection. Clones are the same one.
#[derive(Clone)]
pub(crate) enum Connection {
    One(MultiplexedConnection),
    #[cfg(feature = "cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
}

impl Connection {
    /// Whether it dials by itself what it has lost.
    pub(crate) fn heals(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// Sends commands and gives their answers, errors among them. In a cluster all must be of one slot.
    pub(crate) async fn send(&mut self, commands: &Pipeline) -> Result<Vec<Value>, RedisError> {
        match self {
            Self::One(connection) => connection.send_packed_commands(commands, 0, commands.len()).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(connection) => send_to_cluster(connection, commands).await,
        }
    }
}

/// While a slot moves, a node sends who asks for a key that has moved already to the other, which answers one command
/// at a time: of several sent together all but the first come back. They are then sent one after the other.
#[cfg(feature = "cluster")]
async fn send_to_cluster(
    connection: &mut redis::cluster_async::ClusterConnection,
    commands: &Pipeline,
) -> Result<Vec<Value>, RedisError> {
    use redis::aio::ConnectionLike;

    let answers = connection.req_packed_commands(commands, 0, commands.len()).await;
    match answers {
        Err(error) if error.redirect_node().is_some() && commands.len() > 1 => {
            let mut answers = Vec::with_capacity(commands.len());
            for command in commands.cmd_iter() {
                answers.push(connection.req_packed_command(command).await?);
            }
            Ok(answers)
        }
        answers => answers,
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.heals() { "Cluster" } else { "One" })
    }
}
