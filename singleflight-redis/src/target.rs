//! Which server a URL means.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

use crate::error::{ConnectError, ConnectErrorKind};

/// What to write, at the end of every refusal.
const GOOD: &str = "write `redis://[user[:password]@]host[:port][/database]`, or the same with `valkey://`";

/// A server, and what else its URL says.
pub(crate) struct Target {
    pub(crate) info: ConnectionInfo,
    /// Host and port: what may be said of it in errors.
    pub(crate) address: String,
    pub(crate) namespace: Option<String>,
}

impl Target {
    /// Takes a URL apart. No part of it but a known scheme is repeated in errors: where a password has odd characters,
    /// any part may be of the password.
    pub(crate) fn parse(url: &str) -> Result<Self, ConnectError> {
        check_scheme(url)?;
        let malformed = || {
            let message = format!("the URL of the server is malformed; {GOOD}");
            ConnectError::new(ConnectErrorKind::Misconfigured, message)
        };
        let parsed = redis::parse_redis_url(url).ok_or_else(malformed)?;
        if parsed.fragment().is_some() {
            return Err(malformed());
        }
        let mut namespace = None;
        for (name, value) in parsed.query_pairs() {
            if name != "namespace" || namespace.is_some() {
                let message = "the URL of the server has a parameter other than one `namespace`; percent-encode `?` and \
                               `&` in user and password";
                return Err(ConnectError::new(ConnectErrorKind::Misconfigured, message));
            }
            namespace = Some(value.into_owned());
        }
        let info = parsed.into_connection_info().map_err(|_| malformed())?;
        let address = match info.addr() {
            ConnectionAddr::Tcp(host, port) => format!("{host}:{port}"),
            _ => return Err(malformed()),
        };
        Ok(Self { info, address, namespace })
    }
}

fn check_scheme(url: &str) -> Result<(), ConnectError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    let not_yet = match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" if rest.starts_with("//") => return Ok(()),
        "redis" | "valkey" => {
            let message = format!("the URL of the server has no `//` after its scheme; {GOOD}");
            return Err(ConnectError::new(ConnectErrorKind::Misconfigured, message));
        }
        "rediss" | "valkeys" => "TLS is",
        "redis+cluster" | "valkey+cluster" => "Redis Cluster is",
        "redis+sentinel" | "valkey+sentinel" => "Redis Sentinel is",
        "unix" | "redis+unix" | "valkey+unix" => "a Unix socket is",
        _ => {
            let message = format!("the URL's scheme is not one that is known; {GOOD}");
            return Err(ConnectError::new(ConnectErrorKind::Unsupported, message));
        }
    };
    let message = format!("{not_yet} not supported yet; {GOOD}");
    Err(ConnectError::new(ConnectErrorKind::Unsupported, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> ConnectError {
        match Target::parse(url) {
            Ok(target) => panic!("{url} is taken for {}", target.address),
            Err(error) => error,
        }
    }

    #[test]
    fn good_urls_are_taken_apart() {
        for (url, address, namespace) in [
            ("redis://host", "host:6379", None),
            ("valkey://u:p@host:7000/3", "host:7000", None),
            ("redis://:p%3Fx@127.0.0.1:1/?namespace=shop%20a", "127.0.0.1:1", Some("shop a")),
            ("redis://[::1]:7", "::1:7", None),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((&*target.address, target.namespace.as_deref()), (address, namespace), "{url}");
        }
    }

    #[test]
    fn bad_urls_are_refused_with_a_good_one_and_without_the_password() {
        for (url, says) in [
            ("rediss://:secret@host", "TLS is not supported yet"),
            ("redis+cluster://:secret@host", "Redis Cluster is not supported yet"),
            ("redis+sentinel://:secret@host", "Redis Sentinel is not supported yet"),
            ("unix:///secret", "a Unix socket is not supported yet"),
            ("memcached://secret", "not one that is known"),
            ("secret", "not one that is known"),
            ("redis:secret", "no `//`"),
            ("redis://:sec/ret@host", "malformed"),
            ("redis://:sec#ret@host", "malformed"),
            ("redis://:sec?secret@host", "malformed"),
            ("redis://u:p@host?secret=1", "a parameter other than"),
            ("redis://host/secret", "malformed"),
            ("redis://:secret@host:99999", "malformed"),
            ("redis://", "malformed"),
        ] {
            let error = refusal(url);
            let (shown, debug) = (error.to_string(), format!("{error:?}"));
            assert!(shown.contains(says), "{url}: {shown}");
            for word in ["secret", "sec", "ret"] {
                let leaks =
                    |text: &str| text.split(|c: char| !c.is_ascii_alphabetic()).any(|part| part == word);
                assert!(!leaks(&shown) && !leaks(&debug), "{url}: {shown} {debug}");
            }
        }
    }
}
