//! Making a connection, and how long to wait before the next attempt.

use std::fmt;
use std::time::Duration;

use redis::aio::{MultiplexedConnection, SendError};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, ProtocolVersion, PushInfo, RedisError, Value,
};

/// Dials one server.
pub(crate) struct Dialer {
    client: Client,
    address: String,
    response: Duration,
    dial: Duration,
}

impl Dialer {
    /// A dialler of this server; `address` is what may be said of it in errors.
    pub(crate) fn new(
        info: ConnectionInfo,
        address: String,
        response: Duration,
        dial: Duration,
    ) -> Result<Self, RedisError> {
        // Pushes need RESP3. The library's name is not worth a right of its own. Nagle's algorithm would hold back
        // commands of callers that do not wait for each other.
        let redis =
            info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
        let info = info.set_redis_settings(redis).set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(Self { client: Client::open(info)?, address, response, dial })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How long an answer may take.
    pub(crate) fn response(&self) -> Duration {
        self.response
    }

    /// A connection, which hands everything unasked for to `push`.
    ///
    /// With `check_role`, a replica is refused with `READONLY`.
    pub(crate) async fn dial(
        &self,
        check_role: bool,
        push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.dial))
            .set_response_timeout(Some(self.response))
            .set_push_sender(move |info| {
                push(info);
                Ok::<(), SendError>(())
            });
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        if check_role && is_replica(&mut connection).await? {
            return Err((ErrorKind::Client, "the server is still a replica").into());
        }
        Ok(connection)
    }
}

async fn is_replica(connection: &mut MultiplexedConnection) -> Result<bool, RedisError> {
    let answer = connection.send_packed_command(&redis::cmd("ROLE")).await?;
    // An answer of another form, "no permission" say, tells nothing: then a write will.
    let Value::Array(parts) = answer else { return Ok(false) };
    Ok(matches!(parts.first(), Some(Value::BulkString(role)) if role == b"slave"))
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the client: it has the password.
        f.debug_struct("Dialer")
            .field("address", &self.address)
            .field("response", &self.response)
            .field("dial", &self.dial)
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
