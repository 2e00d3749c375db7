//! What went wrong: in a step, as the engine tells it apart, and in making the connection.

use std::error::Error;
use std::fmt;

use redis::{ErrorKind, RedisError, ServerError};
use singleflight_core::BackendError;
use singleflight_core::error::BackendErrorKind;

/// Why a connection is of no further use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Cut, or spoken on in a way that cannot be understood.
    Cut,
    /// No answer several times in a row.
    Unresponsive,
    /// The server is a replica now.
    ReadOnly,
    /// The server does not let us in, or no longer.
    Denied,
}

/// What an error means to the engine and to the connection.
pub(crate) fn classify(error: &RedisError) -> (BackendErrorKind, Option<Loss>) {
    if error.is_timeout() {
        return (BackendErrorKind::Timeout, None);
    }
    let says = |code: &str| error.detail().is_some_and(|detail| detail.contains(code));
    match error.kind() {
        // The cluster's client tells of its first connections in text only.
        ErrorKind::Io if says("WRONGPASS") || says("NOAUTH") => {
            (BackendErrorKind::Unavailable, Some(Loss::Denied))
        }
        ErrorKind::Io | ErrorKind::Parse => (BackendErrorKind::Unavailable, Some(Loss::Cut)),
        ErrorKind::AuthenticationFailed => (BackendErrorKind::Unavailable, Some(Loss::Denied)),
        _ => match error.code() {
            Some(code) => classify_code(code, error.detail().unwrap_or_default()),
            None => (BackendErrorKind::Protocol, None),
        },
    }
}

/// The same for an answer.
pub(crate) fn classify_answer(error: &ServerError) -> (BackendErrorKind, Option<Loss>) {
    classify_code(error.code(), error.details().unwrap_or_default())
}

fn classify_code(code: &str, detail: &str) -> (BackendErrorKind, Option<Loss>) {
    // Before 7.0 an error inside a script is told as `ERR Error running script … CODE …` or `@user_script: 1: -CODE …`.
    let wrapped = code == "ERR" || code.starts_with("@user_script");
    let is =
        |wanted: &str| code == wanted || wrapped && detail.split([' ', '-', ':']).any(|word| word == wanted);
    let any = |wanted: &[&str]| wanted.iter().any(|wanted| is(wanted));
    if is("READONLY") {
        (BackendErrorKind::Unavailable, Some(Loss::ReadOnly))
    } else if any(&["NOAUTH", "WRONGPASS"]) {
        (BackendErrorKind::Unavailable, Some(Loss::Denied))
    } else if any(&["LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY"]) {
        (BackendErrorKind::Unavailable, None)
    } else if any(&["OOM", "WRONGTYPE", "MISCONF", "NOREPLICAS", "NOPERM", "GONE"]) {
        (BackendErrorKind::Refused, None)
    } else {
        (BackendErrorKind::Protocol, None)
    }
}

/// The step failed on the way.
pub(crate) fn failed(error: RedisError) -> BackendError {
    let (kind, _) = classify(&error);
    let message = match kind {
        BackendErrorKind::Timeout => "Redis did not answer in time",
        BackendErrorKind::Unavailable => "Redis cannot be reached",
        _ => "Redis could not be asked",
    };
    BackendError::new(kind, message).with_source(error)
}

/// The connection was cut before the answer came.
pub(crate) fn unanswered(error: RedisError) -> BackendError {
    let message = "the connection to Redis was cut before the answer came";
    BackendError::new(BackendErrorKind::Timeout, message).with_source(error)
}

/// The server answered with an error.
pub(crate) fn answered(error: &ServerError) -> BackendError {
    let (kind, _) = classify_answer(error);
    BackendError::new(kind, format!("Redis says {} {}", error.code(), error.details().unwrap_or_default()))
}

/// The server answered something that it never should.
pub(crate) fn unexpected() -> BackendError {
    BackendError::new(BackendErrorKind::Protocol, "Redis gave an answer of another form than asked for")
}

/// There is no connection.
pub(crate) fn down() -> BackendError {
    BackendError::new(BackendErrorKind::Unavailable, "there is no connection to Redis; it is being dialled")
}

/// What the two sides of a connection by TLS hold against each other, if that is it.
fn distrust(error: &RedisError) -> Option<String> {
    // The cluster's client hands on no more of an error than its text.
    let shown = error.to_string();
    let found =
        ["invalid peer certificate", "received fatal alert"].iter().find_map(|sign| shown.find(sign))?;
    Some(shown[found..].to_owned())
}

/// Redis could not be made the backend. Never contains a password.
#[derive(Debug)]
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

    /// The server at `address` could not be dialled.
    pub(crate) fn dial(address: &str, error: RedisError) -> Self {
        let denied = classify(&error).1 == Some(Loss::Denied);
        let (kind, message) = if denied {
            let message = format!("the server at {address} does not accept the user or the password");
            (ConnectErrorKind::Denied, message)
        } else if error.kind() == ErrorKind::RESP3NotSupported {
            let message = format!("the server at {address} is too old: Redis 6 or Valkey is needed");
            (ConnectErrorKind::Unsupported, message)
        } else if error.kind() == ErrorKind::MasterNameNotFoundBySentinel {
            let message = format!("the sentinels at {address} know no primary of the name in the URL");
            (ConnectErrorKind::Unreachable, message)
        } else if let Some(reason) = distrust(&error) {
            let message = format!(
                "the connection to the server at {address} is not trusted ({reason}): give the authority that signed its \
                 certificate with `ca` of the builder and, where it asks for one, ours with `identity`"
            );
            (ConnectErrorKind::Untrusted, message)
        } else {
            (ConnectErrorKind::Unreachable, format!("the server at {address} cannot be reached"))
        };
        Self { kind, message, source: Some(error) }
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

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_where_old_and_new_servers_put_them() {
        let cases = [
            ("READONLY", "You can't write", BackendErrorKind::Unavailable, Some(Loss::ReadOnly)),
            ("OOM", "command not allowed", BackendErrorKind::Refused, None),
            ("WRONGTYPE", "Operation against", BackendErrorKind::Refused, None),
            ("LOADING", "Redis is loading", BackendErrorKind::Unavailable, None),
            ("NOAUTH", "Authentication required", BackendErrorKind::Unavailable, Some(Loss::Denied)),
            (
                "ERR",
                "Error running script (call to f_1): @user_script:2: WRONGTYPE Operation against a key",
                BackendErrorKind::Refused,
                None,
            ),
            (
                "ERR",
                "Error running script (call to f_1): @user_script:2: @user_script: 2: -READONLY You can't",
                BackendErrorKind::Unavailable,
                Some(Loss::ReadOnly),
            ),
            (
                "@user_script:",
                "23: -OOM command not allowed when used memory > 'maxmemory'.",
                BackendErrorKind::Refused,
                None,
            ),
            ("ERR", "unknown command", BackendErrorKind::Protocol, None),
        ];
        for (code, detail, kind, loss) in cases {
            assert_eq!(classify_code(code, detail), (kind, loss), "{code} {detail}");
        }
    }
}
