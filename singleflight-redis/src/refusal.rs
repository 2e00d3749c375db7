//! Why no connection came about, and what to do about it.

use std::error::Error;
use std::fmt;

use redis::{ErrorKind, RedisError};

use crate::error::{Loss, classify};

/// Whom it was that a connection was asked of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    Server,
    Sentinels,
    /// Found at this address by the sentinels.
    Primary(String),
    #[cfg(feature = "cluster")]
    Nodes,
}

/// No connection came about.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) whom: Whom,
    /// It was to be by TLS.
    pub(crate) tls: bool,
    pub(crate) error: RedisError,
}

impl Refusal {
    /// How much it says of what is wrong: a sentinel that cannot be asked says less than one that answers, and that less
    /// than the primary it names.
    pub(crate) fn weight(&self) -> u8 {
        match self.whom {
            Whom::Sentinels if self.error.is_io_error() && distrust(&self.error).is_none() => 0,
            Whom::Sentinels => 1,
            _ => 2,
        }
    }

    /// Whether they would not let us in.
    pub(crate) fn is_denied(&self) -> bool {
        classify(&self.error).1 == Some(Loss::Denied)
    }

    /// The other side was there, and is no longer.
    fn is_hung_up(&self) -> bool {
        self.error.is_connection_dropped() && !self.error.is_connection_refusal()
    }

    /// What is wrong, and what to write instead; `address` is that of the URL.
    fn told(&self, address: &str) -> (ConnectErrorKind, String) {
        use ConnectErrorKind::{Denied, Misconfigured, Unreachable, Unsupported, Untrusted};

        let who = match &self.whom {
            Whom::Server => format!("the server at {address}"),
            Whom::Sentinels => format!("one of the sentinels at {address}"),
            Whom::Primary(primary) => {
                format!("the primary at {primary}, which the sentinels at {address} name,")
            }
            #[cfg(feature = "cluster")]
            Whom::Nodes => format!("the cluster at {address}"),
        };
        let error = &self.error;
        let shown = error.to_string();
        if self.is_denied() {
            let help = match self.whom {
                Whom::Sentinels => {
                    "; theirs are `sentinel_user` and `sentinel_password` in the URL, those before the `@` are the primary's"
                }
                _ => "",
            };
            (Denied, format!("{who} does not accept the user or the password{help}"))
        } else if error.kind() == ErrorKind::RESP3NotSupported {
            (Unsupported, format!("{who} is too old: Redis 6 or Valkey is needed"))
        } else if error.kind() == ErrorKind::MasterNameNotFoundBySentinel {
            (Unreachable, format!("the sentinels at {address} know no primary of the name in the URL"))
        } else if shown.contains(IS_SENTINEL) || shown.contains("unknown command 'CLUSTER'") {
            let message =
                format!("what is at {address} is a sentinel; write `redis+sentinel://…/primary` in the URL");
            (Misconfigured, message)
        } else if shown.contains("unknown command 'SENTINEL'") {
            let message = format!("what is at {address} is no sentinel; write `redis://` for a server");
            (Misconfigured, message)
        } else if shown.contains("cluster support disabled") {
            let message = format!("the server at {address} is not of a cluster; write `redis://` in the URL");
            (Misconfigured, message)
        } else if shown.contains("DB index") {
            (Misconfigured, format!("{who} has no database of the number in the URL"))
        } else if let Some((reason, help)) = distrust(error) {
            (Untrusted, format!("the connection to {who} is not trusted ({reason}): {help}"))
        } else if self.tls && is_garbled(error) {
            (
                Unreachable,
                format!("{who} does not speak TLS; write the URL with `redis` in place of `rediss`"),
            )
        } else if self.tls && self.is_hung_up() {
            // Its reason may come too late to be read.
            let help = "where it asks for a certificate, give ours with `identity` of the builder; where it expects no \
                        TLS, write `redis` in place of `rediss`";
            (Untrusted, format!("{who} closed the connection by TLS: {help}"))
        } else if self.tls && error.is_timeout() {
            let help = "if it expects no TLS, write `redis` in place of `rediss`";
            (Unreachable, format!("{who} cannot be reached by TLS in time; {help}"))
        } else if self.is_hung_up() {
            let help = "if it expects TLS, write `rediss` in place of `redis`";
            (Unreachable, format!("{who} closed the connection; {help}"))
        } else {
            (Unreachable, format!("{who} cannot be reached"))
        }
    }
}

/// What is said to who asks a sentinel for data.
pub(crate) const IS_SENTINEL: &str = "this is a sentinel";

/// What the two sides of a connection by TLS hold against each other, if that is it, and what helps.
fn distrust(error: &RedisError) -> Option<(String, &'static str)> {
    // The cluster's client hands on no more of an error than its text.
    let shown = error.to_string();
    let found =
        ["invalid peer certificate", "received fatal alert"].iter().find_map(|sign| shown.find(sign))?;
    let reason = shown[found..].to_owned();
    let help = if reason.contains("expired") || reason.contains("not valid yet") {
        "its certificate is out of date, or this machine's clock is wrong"
    } else if reason.contains("not valid for name") {
        "name it in the URL as its certificate does"
    } else if reason.contains("received fatal alert") {
        "give our certificate, signed by an authority that it trusts, with `identity` of the builder"
    } else {
        "give the authority that signed its certificate with `ca` of the builder"
    };
    Some((reason, help))
}

/// What came in answer to a greeting by TLS was none.
fn is_garbled(error: &RedisError) -> bool {
    error.to_string().contains("corrupt message")
}

/// Redis could not be made the backend. Never contains a password.
///
/// Its `Debug` form is the sentence, too, so that a `main` that returns it prints it.
pub struct ConnectError {
    kind: ConnectErrorKind,
    message: String,
    source: Option<RedisError>,
}

/// The kinds of [`ConnectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// The URL, the environment or a setting says something that cannot be meant.
    Misconfigured,
    /// What is asked for cannot be had from this version.
    Unsupported,
    /// The server cannot be reached.
    Unreachable,
    /// The server does not accept the user or the password.
    Denied,
    /// The server's certificate is not trusted, or ours is not accepted.
    Untrusted,
}

impl ConnectError {
    pub(crate) fn new(kind: ConnectErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// No connection to the servers at `address` came about.
    pub(crate) fn dial(address: &str, refusal: Refusal) -> Self {
        let (kind, message) = refusal.told(address);
        Self { kind, message, source: Some(refusal.error) }
    }

    /// Nothing can be dialled with what the URL and the settings say.
    pub(crate) fn unusable(address: &str, error: RedisError) -> Self {
        let message = format!("what the URL and the settings say of {address} cannot be used");
        Self { kind: ConnectErrorKind::Misconfigured, message, source: Some(error) }
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> ConnectErrorKind {
        self.kind
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
