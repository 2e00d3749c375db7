//! How a [`RedisBackend`] is made.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::RedisBackend;
use crate::dial::{Dialer, Patience};
use crate::keys::{Keyspace, PREFIX};
use crate::link::Lines;
use crate::notify::Hub;
use crate::refusal::{ConnectError, ConnectErrorKind};
use crate::target::{Servers, Target};

/// How long an answer, and a connection, may take where nobody says.
const RESPONSE: Duration = Duration::from_millis(250);
const DIAL: Duration = Duration::from_millis(500);
/// The longest that either may be: several of them can be added up.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes a [`RedisBackend`].
#[derive(Clone)]
#[must_use]
pub struct RedisBuilder {
    /// May hold a password: never shown.
    url: String,
    prefix: String,
    connections: usize,
    response: Option<Duration>,
    dial: Option<Duration>,
    #[cfg(feature = "tls")]
    trust: crate::tls::Trust,
}

impl RedisBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            prefix: PREFIX.to_owned(),
            connections: 1,
            response: None,
            dial: None,
            #[cfg(feature = "tls")]
            trust: crate::tls::Trust::default(),
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

    /// How long an answer may take before the call goes on without Redis; 250 ms unless set here or as
    /// `?response_timeout_ms=` of the URL, a day at most.
    ///
    /// While other calls are answered on its connection, a call waits on behind them, up to four times as long. A value that
    /// cannot be sent in this time is not stored, and loaded again by each call: for values of tens of megabytes, set more.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response = Some(timeout);
        self
    }

    /// How long making a connection may take; 500 ms unless set here or as `?dial_timeout_ms=` of the URL, a day at most.
    pub fn dial_timeout(mut self, timeout: Duration) -> Self {
        self.dial = Some(timeout);
        self
    }

    /// The authority, in PEM, that signed the certificates of the servers; those that the operating system trusts unless
    /// set.
    #[cfg(feature = "tls")]
    pub fn ca(mut self, certificate: &[u8]) -> Self {
        self.trust.authority = Some(certificate.to_owned());
        self
    }

    /// The certificate, with what leads to its authority, and the key, both in PEM, by which servers know us; none
    /// unless set.
    #[cfg(feature = "tls")]
    pub fn identity(mut self, certificate: &[u8], key: &[u8]) -> Self {
        self.trust.identity = Some((certificate.to_owned(), key.to_owned()));
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
        let target = Target::parse(&self.url)?;
        let patience = self.patience(&target);
        let (servers, address) = (self.trusted(&target)?, target.address);
        let keys = Keyspace::new(&self.prefix).ok_or_else(|| {
            wrong("the prefix of keys has a `{`, which would break their place in a cluster")
        })?;
        if patience.response.is_zero() || patience.dial.is_zero() {
            return Err(wrong("a time-out of zero would fail every step; write at least a millisecond"));
        }
        let dialer = Dialer::new(servers, address.clone(), patience);
        let dialer = Arc::new(dialer.map_err(|error| ConnectError::unusable(&address, error))?);
        let lines = Lines::new(dialer.clone(), keys.clone(), self.connections);
        Ok((lines, Hub::new(dialer, keys)))
    }

    fn patience(&self, target: &Target) -> Patience {
        Patience {
            response: self.response.or(target.response).unwrap_or(RESPONSE).min(LONGEST),
            dial: self.dial.or(target.dial).unwrap_or(DIAL).min(LONGEST),
        }
    }

    #[cfg(feature = "tls")]
    fn trusted(&self, target: &Target) -> Result<Servers, ConnectError> {
        self.trust.check(target.tls)?;
        let mut servers = target.servers.clone();
        let put = self.trust.put_into(&mut servers);
        put.map_err(|error| ConnectError::unusable(&target.address, error))?;
        Ok(servers)
    }

    #[cfg(not(feature = "tls"))]
    fn trusted(&self, target: &Target) -> Result<Servers, ConnectError> {
        Ok(target.servers.clone())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builder_goes_before_the_url_and_that_before_what_is_usual() {
        let of = |builder: RedisBuilder| {
            let patience = builder.patience(&Target::parse(&builder.url).unwrap());
            [patience.response, patience.dial].map(|timeout| timeout.as_millis())
        };
        let (short, long) = ("redis://host", "redis://host?response_timeout_ms=7000&dial_timeout_ms=8000");
        assert_eq!(of(RedisBuilder::new(short)), [250, 500]);
        assert_eq!(of(RedisBuilder::new(long)), [7000, 8000]);
        let second = Duration::from_secs(1);
        assert_eq!(of(RedisBuilder::new(long).response_timeout(second)), [1000, 8000]);
        assert_eq!(of(RedisBuilder::new(long).dial_timeout(second)), [7000, 1000]);
    }

    #[tokio::test]
    async fn the_longest_time_outs_are_a_day() {
        let most = format!("?response_timeout_ms={0}&dial_timeout_ms={0}", u64::MAX);
        for url in ["redis://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/main", "redis+cluster://127.0.0.1:1"]
        {
            let builder = RedisBuilder::new(&format!("{url}{most}"));
            let set = RedisBuilder::new(url).response_timeout(Duration::MAX).dial_timeout(Duration::MAX);
            for builder in [builder, set] {
                let error = builder.connect().await.unwrap_err();
                let known = [ConnectErrorKind::Unreachable, ConnectErrorKind::Unsupported];
                assert!(known.contains(&error.kind()), "nobody listens there: {error}");
            }
        }
    }

    #[tokio::test]
    async fn no_time_out_is_zero() {
        for url in ["redis://host?response_timeout_ms=0", "redis://host?dial_timeout_ms=0"] {
            let error = RedisBuilder::new(url).connect().await.unwrap_err();
            assert!(error.to_string().contains("a time-out of zero"), "{url}: {error}");
        }
    }
}
