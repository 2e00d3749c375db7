//! How a [`RedisBackend`] is made.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::RedisBackend;
use crate::dial::Dialer;
use crate::error::{ConnectError, ConnectErrorKind};
use crate::keys::{Keyspace, PREFIX};
use crate::link::Lines;
use crate::notify::Hub;
use crate::target::Target;

/// Makes a [`RedisBackend`].
#[derive(Clone)]
#[must_use]
pub struct RedisBuilder {
    /// May hold a password: never shown.
    url: String,
    prefix: String,
    connections: usize,
    response: Duration,
    dial: Duration,
}

impl RedisBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            prefix: PREFIX.to_owned(),
            connections: 1,
            response: Duration::from_millis(250),
            dial: Duration::from_millis(500),
        }
    }

    /// How every key in Redis begins; `sf:` unless set. Without `{`.
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.to_owned();
        self
    }

    /// How many connections carry data; 1 unless set. More are of use for values of 64 KiB and above, behind which
    /// small ones would wait.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// How long an answer may take before the call goes on without Redis; 250 ms unless set.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response = timeout;
        self
    }

    /// How long making a connection may take; 500 ms unless set.
    pub fn dial_timeout(mut self, timeout: Duration) -> Self {
        self.dial = timeout;
        self
    }

    /// Connects. The connections are served by the runtime in which this is called, and end with it.
    ///
    /// # Errors
    /// When the URL or a setting makes no sense, or the server cannot be reached or does not let us in.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection.
    pub async fn connect(self) -> Result<RedisBackend, ConnectError> {
        let (lines, hub) = self.prepare()?;
        let first = lines.dial(false).await;
        let first = first.map_err(|error| ConnectError::dial(lines.address(), error))?;
        Ok(RedisBackend::start(lines, hub, Some(first)))
    }

    /// The same without waiting for the server: until it is there, and whenever it is not, calls are coalesced within
    /// this process only.
    ///
    /// # Errors
    /// When the URL or a setting makes no sense.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn connect_in_background(self) -> Result<RedisBackend, ConnectError> {
        let (lines, hub) = self.prepare()?;
        Ok(RedisBackend::start(lines, hub, None))
    }

    fn prepare(&self) -> Result<(Lines, Hub), ConnectError> {
        let wrong = |message| ConnectError::new(ConnectErrorKind::Misconfigured, message);
        let Target { info, address, .. } = Target::parse(&self.url)?;
        let keys = Keyspace::new(&self.prefix).ok_or_else(|| {
            wrong("the prefix of keys has a `{`, which would break their place in a cluster")
        })?;
        if self.response.is_zero() || self.dial.is_zero() {
            return Err(wrong("a time-out of zero would fail every step; write at least a millisecond"));
        }
        let dialer = Dialer::new(info, address.clone(), self.response, self.dial);
        let dialer = Arc::new(dialer.map_err(|error| ConnectError::dial(&address, error))?);
        let lines = Lines::new(dialer.clone(), keys.clone(), self.connections);
        Ok((lines, Hub::new(dialer, keys)))
    }
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder")
            .field("prefix", &self.prefix)
            .field("connections", &self.connections)
            .field("response_timeout", &self.response)
            .field("dial_timeout", &self.dial)
            .finish_non_exhaustive()
    }
}
