//! A primary and its replica with three sentinels that watch over them.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::Server;

/// The name by which the sentinels know the primary.
pub const NAME: &str = "main";

/// Servers and sentinels. They end with this.
#[derive(Debug)]
pub struct Watched {
    /// The first is the primary at the start.
    pub servers: Vec<Server>,
    /// All of one mind.
    pub sentinels: Vec<Server>,
    _files: TempDir,
}

static SHARED: Mutex<Weak<Watched>> = Mutex::new(Weak::new());

impl Watched {
    /// Starts them.
    ///
    /// # Panics
    /// If they do not find each other.
    #[must_use]
    pub fn start() -> Self {
        let files = tempfile::tempdir().unwrap();
        let primary = Server::start();
        let port = primary.port().to_string();
        let replica = Server::with(&["--replicaof", "127.0.0.1", &port]);
        wait("the replica has a copy", || {
            replica.say(&["INFO", "replication"]).contains("master_link_status:up")
        });
        let sentinels = (0..3).map(|number| {
            Server::with_ports(|own| {
                // It keeps in this file what it finds out.
                let file = files.path().join(format!("{number}-{own}.conf"));
                let text = format!(
                    "port {own}\nbind 127.0.0.1\nsentinel monitor {NAME} 127.0.0.1 {port} 2\n\
                     sentinel down-after-milliseconds {NAME} 1000\nsentinel failover-timeout {NAME} 10000\n"
                );
                std::fs::write(&file, text).unwrap();
                vec![file.to_string_lossy().into_owned(), "--sentinel".to_owned()]
            })
        });
        let sentinels: Vec<Server> = sentinels.collect();
        for sentinel in &sentinels {
            wait("the sentinels know each other and the replica", || {
                let known = sentinel.say(&["SENTINEL", "MASTER", NAME]);
                let says = |name: &str, value: &str| {
                    let mut words = known.lines().skip_while(|line| *line != name).skip(2);
                    words.next() == Some(value)
                };
                says("num-slaves", "1") && says("num-other-sentinels", "2")
            });
        }
        Self { servers: vec![primary, replica], sentinels, _files: files }
    }

    /// Sentinels that bear with the primary for half a minute: for where nothing is to happen to it, though the machine may
    /// stand still.
    ///
    /// # Panics
    /// If they do not find each other.
    #[must_use]
    pub fn steady() -> Self {
        let watched = Self::start();
        for sentinel in &watched.sentinels {
            sentinel.say(&["SENTINEL", "SET", NAME, "down-after-milliseconds", "30000"]);
        }
        watched
    }

    /// Those that other tests of this process use, too, as long as one does.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Self::steady());
            *shared = Arc::downgrade(&new);
            new
        })
    }

    /// Where the sentinels are.
    #[must_use]
    pub fn url(&self) -> String {
        let ports = self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port()));
        format!("redis+sentinel://{}/{NAME}", ports.collect::<Vec<_>>().join(","))
    }

    /// The number of the server that is the primary, as all sentinels see it; `None` while they do not agree.
    #[must_use]
    pub fn primary(&self) -> Option<usize> {
        let port = |sentinel: &Server| {
            let answer = sentinel.say(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
            answer.lines().nth(4).and_then(|port| port.parse::<u16>().ok())
        };
        let ports: Option<Vec<u16>> = self.sentinels.iter().map(port).collect();
        let ports = ports?;
        let agreed = ports.iter().all(|port| *port == ports[0]);
        agreed.then(|| self.servers.iter().position(|server| server.port() == ports[0])).flatten()
    }
}

/// Waits until something holds that should soon.
pub(crate) fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
