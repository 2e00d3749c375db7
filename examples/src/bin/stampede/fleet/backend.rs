//! What the processes of a fleet share, as the command line names it.

use singleflight_redis::RedisBackend;

use super::control::Control;
use super::local_server::LocalServer;
use super::worker::PATIENCE;
use super::{FleetError, Sharing};

/// Not `Debug`: the URL may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum FleetBackend {
    Memory,
    Noop,
    /// A server started for the run.
    Local,
    /// A server that is there, by its URL.
    Server(String),
}

impl FleetBackend {
    /// The backend that a URL names, or a sentence.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        Ok(match url {
            "memory:" | "memory" => Self::Memory,
            "noop:" | "noop" => Self::Noop,
            "redis-local:" | "redis-local" => Self::Local,
            url if url.contains('?') => {
                let message = "leave `?` and what follows out of the URL of the server: the fleet takes a namespace of \
                               its own for each run";
                return Err(message.to_owned());
            }
            url if watched_otherwise(url) => {
                let message = "a fleet's commands are counted on one server without TLS: write `redis://host:6379` or \
                               `valkey://host:6379`";
                return Err(message.to_owned());
            }
            url => Self::Server(url.to_owned()),
        })
    }

    /// What may be said of it.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::Memory => "memory:",
            Self::Noop => "noop:",
            Self::Local => "redis-local:",
            // What comes after the scheme may hold a password.
            Self::Server(url) => url.split_inclusive(':').next().unwrap_or_default(),
        }
    }

    pub(crate) fn has_server(&self) -> bool {
        matches!(self, Self::Local | Self::Server(_))
    }

    /// Connects to the server, and starts it where it is to be this run's own; it then lives as long as what is given.
    pub(crate) async fn open(&self) -> Result<(Sharing, Option<LocalServer>), FleetError> {
        let (url, server) = match self {
            Self::Memory => return Ok((Sharing::Process, None)),
            Self::Noop => return Ok((Sharing::Nothing, None)),
            Self::Server(url) => (url.clone(), None),
            Self::Local => {
                let server = LocalServer::start().await?;
                (server.url(), Some(server))
            }
        };
        // Refuses what a worker would be refused, in the words of the library.
        let backend = RedisBackend::builder(&url).dial_timeout(PATIENCE).response_timeout(PATIENCE);
        drop(backend.connect().await?);
        Ok((Sharing::Server(Box::new(Control::connect(&url).await?)), server))
    }
}

/// Whether the library knows the scheme, and what it names cannot be watched by a connection of our own.
fn watched_otherwise(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    matches!(scheme, "rediss" | "valkeys" | "unix") || scheme.contains('+')
}
