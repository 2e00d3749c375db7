//! What the environment says.

use std::fmt;

/// The backends that need nothing installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendChoice {
    Memory,
    Noop,
}

/// The name of the variable that chooses the backend.
pub const BACKEND_VARIABLE: &str = "SINGLEFLIGHT_BACKEND";

/// The environment asks for something that cannot be had.
///
/// Its `Debug` form is the sentence, too, so that a `main` that returns it prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
}

impl BackendChoice {
    pub(crate) fn from_env() -> Result<Self, ConfigError> {
        match std::env::var(BACKEND_VARIABLE) {
            // What a file of settings gives may end in a new line.
            Ok(value) => Self::parse(value.trim()),
            Err(std::env::VarError::NotPresent) => Ok(Self::Memory),
            Err(std::env::VarError::NotUnicode(_)) => Err(ConfigError {
                message: format!("`{BACKEND_VARIABLE}` is not valid UTF-8; write `memory:` or `noop:`"),
            }),
        }
    }

    fn parse(value: &str) -> Result<Self, ConfigError> {
        // What comes after the scheme may hold a password: it is never repeated.
        let scheme = value.split_once(':').map(|(scheme, _)| scheme);
        match (value, scheme) {
            // Empty where a variable of another name was not set.
            ("" | "memory:" | "memory", _) => Ok(Self::Memory),
            ("noop:" | "noop", _) => Ok(Self::Noop),
            (_, Some(scheme @ ("memory" | "noop"))) => Err(ConfigError {
                message: format!(
                    "`{BACKEND_VARIABLE}` says more than `{scheme}:`, which takes no settings; build an engine for those"
                ),
            }),
            (_, Some(scheme)) if scheme.starts_with("redis") || scheme.starts_with("valkey") => {
                Err(ConfigError {
                    message: format!(
                        "`{BACKEND_VARIABLE}` asks for `{scheme}:`, which must be installed at start-up: \
                     `singleflight_redis::from_env().await?.install()?`"
                    ),
                })
            }
            (_, scheme) => Err(ConfigError {
                message: format!(
                    "`{BACKEND_VARIABLE}` asks for `{}`, which is not known; write `memory:` or `noop:`, or, with \
                     `singleflight-redis`, `redis://…`, `rediss://…`, `redis+cluster://…`, `redis+sentinel://…` or \
                     `valkey://…`",
                    scheme.map_or_else(|| value.to_owned(), |scheme| format!("{scheme}:")),
                ),
            }),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_process_backends_are_known_by_name() {
        assert_eq!(BackendChoice::parse("memory:"), Ok(BackendChoice::Memory));
        assert_eq!(BackendChoice::parse(""), Ok(BackendChoice::Memory));
        assert_eq!(BackendChoice::parse("noop:"), Ok(BackendChoice::Noop));
    }

    #[test]
    fn others_are_refused_with_the_good_values_and_without_the_password() {
        for (bad, says) in [
            ("redis://:secret@host", "singleflight_redis::from_env()"),
            ("valkey://u:secret@host", "singleflight_redis::from_env()"),
            ("memcached://secret", "`memory:` or `noop:`"),
            ("memory:1000", "takes no settings"),
        ] {
            let message = BackendChoice::parse(bad).unwrap_err().to_string();
            assert!(message.contains(says) && !message.contains("secret"), "{bad}: {message}");
        }
    }
}
