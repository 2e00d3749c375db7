//! What carries data: a connection to one server, or those to the nodes of a cluster as one.

use std::fmt;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, RedisError, Value};

/// A connection. Clones are the same one.
#[derive(Clone)]
pub(crate) enum Connection {
    One(MultiplexedConnection),
    #[cfg(feature = "cluster")]
    Cluster(Box<crate::cluster::Connections>),
}

impl Connection {
    /// Whether it dials by itself what it has lost.
    pub(crate) fn heals(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// Sends commands and gives their answers, errors among them. In a cluster all must be of one slot.
    ///
    /// One that heals sends them again where it has lost a node, if they may be.
    pub(crate) async fn send(
        &mut self,
        commands: &Pipeline,
        #[cfg_attr(not(feature = "cluster"), expect(unused_variables, reason = "nothing heals"))]
        repeats: bool,
    ) -> Result<Vec<Value>, RedisError> {
        match self {
            Self::One(connection) => connection.send_packed_commands(commands, 0, commands.len()).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(connections) if repeats => connections.send(commands).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(connections) => connections.send_once(commands).await,
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.heals() { "Cluster" } else { "One" })
    }
}
