//! What the environment says.

use std::env::VarError;
use std::sync::Arc;

use singleflight_core::{BACKEND_VARIABLE, NoopBackend, SingleFlight, SingleFlightBuilder};

use crate::backend::RedisBackend;
use crate::refusal::{ConnectError, ConnectErrorKind};
use crate::target::Target;

/// The name of the variable that keeps apart the services on one server.
pub const NAMESPACE_VARIABLE: &str = "SINGLEFLIGHT_NAMESPACE";

/// The engine that the environment asks for.
///
/// | variable | value |
/// |---|---|
/// | `SINGLEFLIGHT_BACKEND` | `memory:` (the default), `noop:`, or the URL of servers as [`RedisBackend::builder`] takes it: `redis://…`, `rediss://…`, `redis+unix://…`, `redis+sentinel://…`, `redis+cluster://…` or the same with `valkey` |
/// | `SINGLEFLIGHT_NAMESPACE` | goes before every key; required with a server, here or as `?namespace=` of its URL |
///
/// ```no_run
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// singleflight_redis::from_env().await?.install()?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// When the environment asks for something that cannot be had, in a sentence that says what to write instead and never
/// has a password in it; or when the server cannot be reached.
///
/// # Cancel safety
/// Dropping the future drops the connection.
pub async fn from_env() -> Result<SingleFlight, ConnectError> {
    builder_from_env().await.map(SingleFlightBuilder::build)
}

/// As [`from_env`], for an engine with more settings than the environment has: how much is kept in memory, a near cache,
/// figures.
///
/// ```no_run
/// use std::time::Duration;
/// use singleflight_core::MemoryBackend;
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let builder = singleflight_redis::builder_from_env().await?;
/// let memory = MemoryBackend::builder().capacity(100_000); // where the environment says `memory:`
/// builder.memory(memory).near(10_000, Duration::from_secs(5)).build().install()?;
/// # Ok(()) }
/// ```
///
/// [`SingleFlightBuilder::backend`] would take the place of what the environment asks for.
///
/// # Errors
/// As [`from_env`].
///
/// # Cancel safety
/// As [`from_env`].
pub async fn builder_from_env() -> Result<SingleFlightBuilder, ConnectError> {
    let (backend, namespace) = (variable(BACKEND_VARIABLE)?, variable(NAMESPACE_VARIABLE)?);
    from_values(backend.as_deref(), namespace.as_deref()).await
}

fn variable(name: &str) -> Result<Option<String>, ConnectError> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(wrong(format!("`{name}` is not valid UTF-8"))),
    }
}

fn wrong(message: impl Into<String>) -> ConnectError {
    ConnectError::new(ConnectErrorKind::Misconfigured, message)
}

async fn from_values(
    backend: Option<&str>,
    namespace: Option<&str>,
) -> Result<SingleFlightBuilder, ConnectError> {
    // What a file of secrets gives may end in a new line.
    let url = match backend.map(str::trim) {
        // Empty where a variable of another name was not set.
        None | Some("" | "memory:" | "memory") => return Ok(SingleFlight::builder()),
        Some("noop:" | "noop") => return Ok(SingleFlight::builder().backend(Arc::new(NoopBackend))),
        Some(url) => url,
    };
    let target = Target::parse(url).map_err(|error| {
        let message = format!("`{BACKEND_VARIABLE}`: {error}; or `memory:` or `noop:`");
        ConnectError::new(error.kind(), message)
    })?;
    let namespace = match (target.namespace.as_deref(), namespace) {
        (Some(here), Some(there)) if here != there => {
            return Err(wrong(format!(
                "`{NAMESPACE_VARIABLE}` and `?namespace=` of `{BACKEND_VARIABLE}` differ; set one of them"
            )));
        }
        (here, there) => here.or(there),
    };
    let namespace = namespace.filter(|namespace| !namespace.is_empty()).ok_or_else(|| {
        let what = match (target.namespace.as_deref(), namespace) {
            (Some(_), _) => "the `namespace` of its URL is empty".to_owned(),
            (None, Some(_)) => format!("`{NAMESPACE_VARIABLE}` is empty"),
            (None, None) => format!("`{NAMESPACE_VARIABLE}` is not set"),
        };
        wrong(format!(
            "`{BACKEND_VARIABLE}` names a server and {what}: give each service a name of its \
             own, so that two on one server never share values; or add `?namespace=` to the URL"
        ))
    })?;
    let backend = RedisBackend::builder(url).connect().await?;
    Ok(SingleFlight::builder().backend(Arc::new(backend)).namespace(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use singleflight_core::backend::Medium;

    #[tokio::test]
    async fn backends_without_a_server_need_no_namespace() {
        for (value, medium) in [
            (None, Medium::Values),
            (Some(""), Medium::Values),
            (Some(" memory:\n"), Medium::Values),
            (Some("noop:"), Medium::Nothing),
        ] {
            assert_eq!(from_values(value, None).await.unwrap().build().backend().medium(), medium);
        }
    }

    #[tokio::test]
    async fn bad_values_are_refused_with_the_good_ones_and_without_the_password() {
        for (backend, namespace, says) in [
            ("memcached://secret", Some("n"), "`redis://"),
            ("redis+sentinel://:secret@host", Some("n"), "no name of a primary"),
            ("redis://:secret@host", None, "`SINGLEFLIGHT_NAMESPACE` is not set"),
            ("redis://:secret@host", Some(""), "`SINGLEFLIGHT_NAMESPACE` is empty"),
            ("redis://:secret@host?namespace=", None, "`namespace` of its URL is empty"),
            ("redis://:secret@host?namespace=a", Some("b"), "differ"),
        ] {
            let error = from_values(Some(backend), namespace).await.unwrap_err();
            let message = error.to_string();
            assert!(message.contains(says) && !message.contains("secret"), "{backend}: {message}");
            assert!(!format!("{error:?}").contains("secret"));
        }
    }
}
