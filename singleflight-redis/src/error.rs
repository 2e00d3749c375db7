//! What went wrong in a step, as the engine tells it apart.

use std::error::Error;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerError};
use singleflight_core::BackendError;
use singleflight_core::error::BackendErrorKind;

use crate::refusal::ConnectError;

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
    let help = match error.code() {
        "MOVED" => "; it is a node of a cluster: write `redis+cluster://` in the URL",
        _ => "",
    };
    BackendError::new(
        kind,
        format!("Redis says {} {}{help}", error.code(), error.details().unwrap_or_default()),
    )
}

/// The server answered something that it never should.
pub(crate) fn unexpected() -> BackendError {
    BackendError::new(BackendErrorKind::Protocol, "Redis gave an answer of another form than asked for")
}

/// There is no connection, and why the last attempt at one failed.
pub(crate) fn down(why: Option<Arc<ConnectError>>) -> BackendError {
    let error = BackendError::new(
        BackendErrorKind::Unavailable,
        "there is no connection to Redis; it is being dialled",
    );
    match why {
        Some(why) => error.with_source(Box::<dyn Error + Send + Sync>::from(why)),
        None => error,
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
