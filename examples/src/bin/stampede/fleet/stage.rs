//! What a fleet's scenes are played with.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use redis::RedisError;
use singleflight_redis::ConnectError;

use super::control::Control;
use super::local_server::ServerError;

/// What the command line asked for.
pub(crate) struct Stage {
    pub(crate) processes: usize,
    pub(crate) callers: u32,
    pub(crate) load: Duration,
    pub(crate) sharing: Sharing,
    pub(crate) folder: PathBuf,
    pub(crate) plays: u32,
}

/// What the processes have in common.
pub(crate) enum Sharing {
    /// A server: one flight for all.
    Server(Box<Control>),
    /// Nothing: each has a flight of its own.
    Process,
    /// Nothing, and no flights either.
    Nothing,
}

/// A fleet could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the server did not do what the scene needs: {0}")]
    Redis(#[from] RedisError),
    #[error("SQLite did not do what the scene needs: {0}")]
    Database(#[from] sqlx::Error),
    #[error("a process could not be started, told or stopped: {0}")]
    Process(#[from] io::Error),
    #[error("one of the processes: {0}")]
    Worker(String),
    #[error("one of the processes ended by itself")]
    Ended,
    #[error("it took too long until {0}")]
    Unseen(&'static str),
}

impl Stage {
    /// How many queries a herd is to cost.
    pub(crate) fn expected_queries(&self) -> usize {
        match self.sharing {
            Sharing::Server(_) => 1,
            Sharing::Process => self.processes,
            Sharing::Nothing => self.callers as usize,
        }
    }
}
