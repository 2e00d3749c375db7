//! Making a connection, and how long to wait before the next attempt.

use std::fmt;
use std::io;
use std::time::Duration;

use redis::aio::{MultiplexedConnection, SendError};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, ProtocolVersion, PushInfo, RedisError, Value,
};

use tokio::time::timeout;

use crate::connection::Connection;
#[cfg(doc)]
use crate::health::Health;
use crate::refusal::{IS_SENTINEL, Refusal, Whom};
use crate::sentinel::{Moves, Sentinels};
use crate::target::Servers;

/// Dials the servers of one backend.
pub(crate) struct Dialer {
    who: Who,
    address: String,
    tls: bool,
    patience: Patience,
}

enum Who {
    One(ConnectionInfo),
    Sentinel(Sentinels),
    #[cfg(feature = "cluster")]
    Cluster(Box<crate::cluster::Nodes>),
}

/// How long to wait for an answer, and for a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) response: Duration,
    pub(crate) dial: Duration,
}

impl Dialer {
    /// A dialler of these servers; `address` is what may be said of them in errors.
    pub(crate) fn new(servers: Servers, address: String, patience: Patience) -> Result<Self, RedisError> {
        let tls = servers.by_tls();
        let who = match servers {
            Servers::One(info) => Who::One(settled(&info)),
            Servers::Sentinel { sentinels, name, primary } => {
                Who::Sentinel(Sentinels::new(sentinels, name, settled(&primary)))
            }
            #[cfg(feature = "cluster")]
            Servers::Cluster(mut seeds) => {
                for info in &mut seeds.infos {
                    *info = settled(info);
                }
                Who::Cluster(Box::new(crate::cluster::Nodes::new(seeds, patience)?))
            }
        };
        Ok(Self { who, address, tls, patience })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    #[cfg(feature = "cluster")]
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.who, Who::Cluster(_))
    }

    /// How long an answer may take.
    pub(crate) fn response(&self) -> Duration {
        self.patience.response
    }

    /// A connection for data, which hands everything unasked for to `push`.
    ///
    /// With `check_role`, a replica is refused; one that sentinels name always is.
    pub(crate) async fn dial(
        &self,
        check_role: bool,
        push: impl Fn(PushInfo) + Clone + Send + Sync + 'static,
    ) -> Result<Connection, Refusal> {
        match &self.who {
            Who::One(info) => self.server(info, check_role, push).await.map(Connection::One),
            Who::Sentinel(sentinels) => self.primary(sentinels, push).await.map(Connection::One),
            #[cfg(feature = "cluster")]
            Who::Cluster(nodes) => nodes.dial().await.map_err(|error| self.refusal(Whom::Nodes, error)),
        }
    }

    /// What ends the use of a connection that is dialled from now on, beside its loss.
    pub(crate) fn moves(&self) -> Moves {
        match &self.who {
            Who::Sentinel(sentinels) => sentinels.moves(),
            _ => Moves::NONE,
        }
    }

    /// Has connections made anew when sentinels name another primary; ends at once where there are none.
    pub(crate) async fn follow(&self) {
        if let Who::Sentinel(sentinels) = &self.who {
            sentinels.follow(&self.config()).await;
        }
    }

    /// A connection for subscriptions: in a cluster to any one node, since what is published reaches all.
    pub(crate) async fn listen(
        &self,
        push: impl Fn(PushInfo) + Clone + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, Refusal> {
        let mut connection = match &self.who {
            Who::One(info) => self.server(info, false, push).await,
            Who::Sentinel(sentinels) => self.primary(sentinels, push).await,
            #[cfg(feature = "cluster")]
            Who::Cluster(nodes) => self.any(nodes, push).await,
        }?;
        connection.set_response_timeout(self.patience.response);
        Ok(connection)
    }

    #[cfg(feature = "cluster")]
    async fn any(
        &self,
        nodes: &crate::cluster::Nodes,
        push: impl Fn(PushInfo) + Clone + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, Refusal> {
        let mut failed = not_found();
        for info in nodes.in_turn() {
            match self.connect(info, false, push.clone()).await {
                Ok(connection) => return Ok(connection),
                Err(error) => failed = error,
            }
        }
        Err(self.refusal(Whom::Nodes, failed))
    }

    async fn server(
        &self,
        info: &ConnectionInfo,
        check_role: bool,
        push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, Refusal> {
        let connected = self.connect(info, check_role, push).await;
        connected.map_err(|error| self.refusal(Whom::Server, error))
    }

    /// A connection to the primary that the first sentinel to know a living one names.
    async fn primary(
        &self,
        sentinels: &Sentinels,
        push: impl Fn(PushInfo) + Clone + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, Refusal> {
        let config = self.config();
        let (mut tried, mut failed) = (Vec::new(), None::<Refusal>);
        for number in sentinels.in_turn() {
            let refusal = match sentinels.ask(number, &config).await {
                Ok(info) if tried.contains(info.addr()) => continue,
                Ok(info) => match self.connect(&info, true, push.clone()).await {
                    Ok(connection) => {
                        sentinels.note_dialled(info.addr());
                        return Ok(connection);
                    }
                    Err(error) => {
                        tried.push(info.addr().clone());
                        self.refusal(Whom::Primary(info.addr().to_string()), error)
                    }
                },
                Err(error) => self.refusal(Whom::Sentinels, error),
            };
            if failed.as_ref().is_none_or(|failed| failed.weight() < refusal.weight()) {
                failed = Some(refusal);
            }
        }
        Err(failed.unwrap_or_else(|| self.refusal(Whom::Sentinels, not_found())))
    }

    fn refusal(&self, whom: Whom, error: RedisError) -> Refusal {
        Refusal { whom, tls: self.tls, error }
    }

    /// A connection that waits for answers as long as they take: whoever uses it does not, see [`Health::wait_for`].
    async fn connect(
        &self,
        info: &ConnectionInfo,
        check_role: bool,
        push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, RedisError> {
        let config = self.config().set_response_timeout(None).set_push_sender(move |info| {
            push(info);
            Ok::<(), SendError>(())
        });
        let client = Client::open(info.clone())?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let late = |_| RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        let role = timeout(self.patience.response, role(&mut connection)).await.map_err(late)??;
        match role.as_deref() {
            Some(b"sentinel") => Err((ErrorKind::Client, IS_SENTINEL).into()),
            Some(b"slave") if check_role => Err((ErrorKind::Client, "the server is still a replica").into()),
            _ => Ok(connection),
        }
    }

    fn config(&self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.patience.dial))
            .set_response_timeout(Some(self.patience.response))
    }
}

/// As our connections are.
///
/// Pushes need RESP3. The library's name is not worth a right of its own. Nagle's algorithm would hold back commands of
/// callers that do not wait for each other.
fn settled(info: &ConnectionInfo) -> ConnectionInfo {
    let redis = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
    info.clone().set_redis_settings(redis).set_tcp_settings(tcp())
}

pub(crate) fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

fn not_found() -> RedisError {
    (ErrorKind::Client, "there is no server to be asked").into()
}

/// What the server says it is; `None` if its answer is of another form, "no permission" say: then a write will tell.
async fn role(connection: &mut MultiplexedConnection) -> Result<Option<Vec<u8>>, RedisError> {
    let answer = connection.send_packed_command(&redis::cmd("ROLE")).await?;
    let Value::Array(parts) = answer else { return Ok(None) };
    Ok(parts.into_iter().next().and_then(|first| match first {
        Value::BulkString(role) => Some(role),
        _ => None,
    }))
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not whom: that has the password.
        f.debug_struct("Dialer")
            .field("address", &self.address)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// How long to wait between attempts: 20 ms, doubled up to 500 ms, each shortened by up to a half so that processes do
/// not dial in step.
#[derive(Debug)]
pub(crate) struct Backoff {
    pause: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(20);
    const LAST: Duration = Duration::from_millis(500);
    /// Who is not let in will not be a moment later.
    const DENIED: Duration = Duration::from_secs(5);
    /// A connection that held so long was a good one.
    const LASTING: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Self { pause: Self::FIRST }
    }

    /// A connection held so long; says whether it is to be dialled again at once.
    pub(crate) fn lasted(&mut self, held: Duration) -> bool {
        if held >= Self::LASTING {
            *self = Self::new();
        }
        // Otherwise only the first time.
        let first = self.pause == Self::FIRST;
        self.pause = (self.pause * 2).min(Self::LAST);
        first
    }

    /// The pause before the next attempt.
    pub(crate) fn next(&mut self, denied: bool) -> Duration {
        if denied {
            return Self::DENIED.mul_f64(1.0 - fastrand::f64() / 2.0);
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(Self::LAST);
        pause.mul_f64(1.0 - fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_half_a_second_and_are_never_in_step() {
        let mut backoff = Backoff::new();
        for full in [20, 40, 80, 160, 320, 500, 500] {
            let full = Duration::from_millis(full);
            let pause = backoff.next(false);
            assert!(pause <= full && pause >= full / 2, "{pause:?} of {full:?}");
        }
    }

    #[test]
    fn a_connection_lost_at_once_is_dialled_at_once_only_the_first_time() {
        let mut backoff = Backoff::new();
        assert!(backoff.lasted(Duration::from_millis(5)));
        assert!(!backoff.lasted(Duration::from_millis(5)));
        assert!(backoff.lasted(Duration::from_secs(5)));
    }
}
