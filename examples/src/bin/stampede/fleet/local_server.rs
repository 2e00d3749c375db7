//! A Redis server for one run: started on a free loopback port, kept off the disk, ended by its handle.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError};

use super::signal;

/// Names another binary than those on the PATH.
const VARIABLE: &str = "SINGLEFLIGHT_REDIS_SERVER";
const ON_THE_PATH: [&str; 2] = ["redis-server", "valkey-server"];

/// How long a server may take to come up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Someone else may take a free port before the server does.
const PORTS: u32 = 10;

/// There is no server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error(
        "there is no `redis-server` or `valkey-server` on the PATH to start: install one (`apt-get install \
         redis-server`, `brew install redis`), or name one that runs, `--backend redis://host:6379`"
    )]
    Missing,
    #[error("`{VARIABLE}` names a server that cannot be started: {0}")]
    Named(io::Error),
    #[error("no server came up on {PORTS} ports in turn")]
    Mute,
    #[error("the server could not be asked who it is: {0}")]
    Redis(#[from] RedisError),
    #[error("the server could not be started: {0}")]
    Start(#[from] io::Error),
}

/// A server that ends with this.
#[derive(Debug)]
pub(crate) struct LocalServer {
    process: Child,
    /// Ends the server should this program be killed: waits for that on its standard input.
    guard: Child,
    port: u16,
}

impl LocalServer {
    pub(crate) async fn start() -> Result<Self, ServerError> {
        for _ in 0..PORTS {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            if let Some(server) = Self::start_on(port).await? {
                return Ok(server);
            }
        }
        Err(ServerError::Mute)
    }

    /// `None` if it did not come up there.
    pub(crate) async fn start_on(port: u16) -> Result<Option<Self>, ServerError> {
        let process = launch(port)?;
        let guard = Command::new("sh")
            .args(["-c", "read line; kill -9 $0", &process.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut server = match guard {
            Ok(guard) => Self { process, guard, port },
            Err(error) => {
                end(process);
                return Err(error.into());
            }
        };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && server.process.try_wait()?.is_none() {
            // Whoever answers there may be somebody else's server, which took the port first.
            if server.pid().await.is_ok_and(|pid| pid == server.process.id()) {
                return Ok(Some(server));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(None)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// `redis 7.0.15` or the like, as it says itself.
    pub(crate) async fn version(&self) -> Result<String, RedisError> {
        let info = info(&self.url()).await?;
        let named = |name: &str| field(&info, name);
        Ok(match (named("valkey_version"), named("redis_version")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, Some(version)) => format!("Redis {version}"),
            (None, None) => "a server that does not say which".to_owned(),
        })
    }

    /// Stops it in its tracks: connections stay, nothing is answered.
    pub(crate) fn pause(&self) -> io::Result<()> {
        signal::send("-STOP", &self.process)
    }

    pub(crate) fn resume(&self) -> io::Result<()> {
        signal::send("-CONT", &self.process)
    }

    async fn pid(&self) -> Result<u32, RedisError> {
        let info = info(&self.url()).await?;
        Ok(field(&info, "process_id").and_then(|pid| pid.parse().ok()).unwrap_or(0))
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        // The guard first: it is not to kill whoever has the server's number by then.
        for process in [&mut self.guard, &mut self.process] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn launch(port: u16) -> Result<Child, ServerError> {
    if let Some(binary) = std::env::var_os(VARIABLE) {
        return command(&binary, port).spawn().map_err(ServerError::Named);
    }
    for binary in ON_THE_PATH {
        match command(binary.as_ref(), port).spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            started => return Ok(started?),
        }
    }
    Err(ServerError::Missing)
}

fn command(binary: &std::ffi::OsStr, port: u16) -> Command {
    let mut command = Command::new(binary);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(std::env::temp_dir());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn end(mut process: Child) {
    let _ = process.kill();
    let _ = process.wait();
}

async fn info(url: &str) -> Result<String, RedisError> {
    let mut connection: MultiplexedConnection = Client::open(url)?.get_multiplexed_async_connection().await?;
    redis::cmd("INFO").arg("server").query_async(&mut connection).await
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
