//! A Redis server for one run: on a free loopback port, in a folder of its own, off the disk, ended by its handle.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{Client, Connection, RedisError};

/// How long a server may take to come up.
const LIMIT: Duration = Duration::from_secs(10);

/// Someone else may take a free port before the server does.
const PORTS: usize = 10;

/// A server that ends with this.
pub(super) struct Server {
    process: Child,
    /// Ends the server should this program be killed: waits for that on its standard input.
    guard: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    pub(super) fn start() -> io::Result<Self> {
        for _ in 0..PORTS {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            if let Some(server) = Self::start_on(port)? {
                return Ok(server);
            }
        }
        Err(io::Error::other(format!("no server came up on {PORTS} ports in turn")))
    }

    fn start_on(port: u16) -> io::Result<Option<Self>> {
        let folder = std::env::temp_dir().join(format!("bench-redis-{:016x}", fastrand::u64(..)));
        fs::create_dir(&folder)?;
        let mut process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()])
            .arg("--dir")
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("`redis-server`: {error}")))?;
        let guard = Command::new("sh")
            .args(["-c", "read line; kill -9 $0", &process.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let guard = guard.inspect_err(|_| drop((process.kill(), process.wait())))?;
        let mut server = Self { process, guard, port, folder };
        let begun = Instant::now();
        while begun.elapsed() < LIMIT && server.process.try_wait()?.is_none() {
            // Whoever answers there may be somebody else's server, which took the port first.
            if server.says("process_id").is_ok_and(|pid| pid == server.process.id().to_string()) {
                return Ok(Some(server));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(None)
    }

    /// One of its databases.
    pub(super) fn url(&self, database: u8) -> String {
        format!("redis://127.0.0.1:{}/{database}", self.port)
    }

    pub(super) fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// A connection of the kind that waits for each answer.
    pub(super) fn connect(&self, database: u8) -> Result<Connection, RedisError> {
        Client::open(self.url(database))?.get_connection()
    }

    pub(super) fn version(&self) -> Result<String, RedisError> {
        self.says("redis_version")
    }

    fn says(&self, name: &str) -> Result<String, RedisError> {
        let info: String = redis::cmd("INFO").arg("server").query(&mut self.connect(0)?)?;
        Ok(field(&info, name).unwrap_or_default().to_owned())
    }

    /// Ends it, and makes sure that it is gone.
    pub(super) fn stop(self) -> io::Result<()> {
        let (address, folder) = (self.address(), self.folder.clone());
        drop(self);
        if TcpStream::connect(address).is_ok() || folder.exists() {
            return Err(io::Error::other("the server is still there"));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The guard first: it is not to kill whoever has the server's number by then.
        for process in [&mut self.guard, &mut self.process] {
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A line of `INFO`.
pub(super) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
