//! A Redis or Valkey server of the test's own: started on a free loopback port, ended by its handle.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running server. It ends with this.
#[derive(Debug)]
pub struct Server {
    make: Make,
    process: Child,
    /// Ends the server should the test's process end without a chance to; waits for that on its standard input.
    guard: Child,
    port: u16,
    /// Its own, since a replica writes there what it is sent, and whoever starts next would read it.
    dir: TempDir,
    options: Vec<String>,
}

impl Server {
    /// Starts one, empty.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// A server with these options beside those that keep it from touching the disk.
    #[must_use]
    pub fn with(options: &[&str]) -> Self {
        Self::of(Make::Redis, options)
    }

    /// A Valkey server, whatever others are.
    #[must_use]
    pub fn valkey() -> Self {
        Self::of(Make::Valkey, &[])
    }

    fn of(make: Make, options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        Self::made(make, |_| options.clone())
    }

    /// A server whose options depend on its port, or on others that are asked for with [`free_port`].
    #[must_use]
    pub fn with_ports(options: impl FnMut(u16) -> Vec<String>) -> Self {
        Self::made(Make::Redis, options)
    }

    fn made(make: Make, mut options: impl FnMut(u16) -> Vec<String>) -> Self {
        let dir = tempfile::tempdir().expect("a folder can be made");
        // Someone else may take the port between our look and the server's.
        for _ in 0..10 {
            let port = free_port();
            let options = options(port);
            if let Some((process, guard)) = launch(make, port, &dir, &options) {
                return Self { make, process, guard, port, dir, options };
            }
        }
        panic!("no server came up on ten ports in turn");
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again on the same port, empty.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn revive(&mut self) {
        let patience = Instant::now() + Duration::from_secs(10);
        while Instant::now() < patience {
            if let Some((process, guard)) = launch(self.make, self.port, &self.dir, &self.options) {
                (self.process, self.guard) = (process, guard);
                return;
            }
        }
        panic!("the server did not come up again");
    }

    /// Stops it in its tracks: connections stay, nothing is answered.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(status.expect("`kill` can be run").success());
    }

    /// Sends one command on a connection of its own and gives the answer as it came.
    ///
    /// # Panics
    /// If there is none.
    pub fn say(&self, words: &[&str]) -> String {
        self.try_say(words).expect("the server answers")
    }

    /// The same; `None` where the server cuts the connection, as one does that is made a replica.
    ///
    /// # Panics
    /// If nobody listens.
    pub fn try_say(&self, words: &[&str]) -> Option<String> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).expect("the server can be dialled");
        speak(&mut connection, &words)
    }

    /// A number from `INFO`.
    ///
    /// # Panics
    /// If there is none of this name.
    #[must_use]
    pub fn info(&self, section: &str, name: &str) -> u64 {
        let info = self.say(&["INFO", section]);
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {info}"))
    }

    /// How often the server has run this command, those inside scripts included.
    #[must_use]
    pub fn calls(&self, command: &str) -> u64 {
        let info = self.say(&["INFO", "commandstats"]);
        let start = format!("cmdstat_{command}:calls=");
        let line = info.lines().find_map(|line| line.strip_prefix(&start));
        line.map_or(0, |line| line.split(',').next().and_then(|number| number.parse().ok()).unwrap())
    }

    /// The names of all that it holds.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let answer = self.say(&["KEYS", "*"]);
        answer.lines().skip(1).filter(|line| !line.starts_with('$')).map(str::to_owned).collect()
    }

    /// Asserts that nothing of ours would stay for ever.
    ///
    /// # Panics
    /// If something would.
    pub fn assert_every_key_ends(&self) {
        for key in self.keys() {
            let left = self.say(&["PTTL", &key]);
            assert_ne!(left.trim(), ":-1", "{key} has no TTL");
        }
    }

    /// Cuts every connection of clients of this kind, `normal` or `pubsub`.
    pub fn cut(&self, kind: &str) {
        self.say(&["CLIENT", "KILL", "TYPE", kind]);
    }
}

/// Whose server it is.
#[derive(Clone, Copy, Debug)]
enum Make {
    Redis,
    Valkey,
}

impl Make {
    /// The binary, and where to get another.
    fn binary(self) -> (String, &'static str) {
        let (variable, usual, help) = match self {
            Self::Redis => (
                "SINGLEFLIGHT_REDIS_SERVER",
                "redis-server",
                "`apt-get install redis-server`, or name the binary of a Redis or Valkey server in \
                 SINGLEFLIGHT_REDIS_SERVER",
            ),
            Self::Valkey => (
                "SINGLEFLIGHT_VALKEY_SERVER",
                "valkey-server",
                "name one in SINGLEFLIGHT_VALKEY_SERVER, such as `scripts/fetch-valkey` fetches",
            ),
        };
        (std::env::var(variable).unwrap_or_else(|_| usual.to_owned()), help)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody listens on.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port can be had");
    listener.local_addr().expect("it has a number").port()
}

/// Starts a server and waits until it answers; `None` if it ended instead.
fn launch(make: Make, port: u16, dir: &TempDir, options: &[String]) -> Option<(Child, Child)> {
    let (binary, help) = make.binary();
    let mut server = Command::new(&binary);
    // A sentinel has a file that says all.
    if options.last().is_none_or(|last| last != "--sentinel") {
        server.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        server.arg("--dir").arg(dir.path());
        server.args(["--repl-diskless-load", "on-empty-db", "--repl-diskless-sync-delay", "0"]);
    }
    server.args(options);
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = server.spawn().unwrap_or_else(|error| {
        panic!("this test needs a {make:?} server and `{binary}` cannot be run ({error}): {help}")
    });
    let mut guard = Command::new("sh");
    guard.args(["-c", "read line; kill -9 $0", &process.id().to_string()]);
    guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut guard = guard.spawn().expect("`sh` can be run");
    let patience = Instant::now() + Duration::from_secs(10);
    while Instant::now() < patience {
        if process.try_wait().expect("its state can be asked").is_some() {
            break;
        }
        if answers(port, process.id()) {
            return Some((process, guard));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    for child in [&mut guard, &mut process] {
        let _ = child.kill();
        let _ = child.wait();
    }
    None
}

/// Whether this process answers there, not someone else who has taken the port. One that asks for a password does not say
/// who it is.
fn answers(port: u16, process: u32) -> bool {
    let Ok(mut connection) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    speak(&mut connection, &[b"INFO", b"server"]).is_some_and(|says| {
        let its = says.lines().find_map(|line| line.strip_prefix("process_id:"));
        says.starts_with('-') || its.is_some_and(|its| its == process.to_string())
    })
}

/// Sends a command and reads one answer, whatever its form: until the server has nothing more to say.
fn speak(connection: &mut TcpStream, words: &[&[u8]]) -> Option<String> {
    let mut command = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        command.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        command.extend_from_slice(word);
        command.extend_from_slice(b"\r\n");
    }
    // `QUIT` makes the end of the answer plain: the server closes after it, and a sentinel does not know it.
    command.extend_from_slice(b"*1\r\n$4\r\nQUIT\r\n");
    connection.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    connection.write_all(&command).ok()?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = connection.read(&mut piece).ok()?;
        answer.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&answer);
        match text.split_once("-ERR unknown command 'QUIT'") {
            Some((answer, rest)) if rest.ends_with("\r\n") => return Some(answer.to_owned()),
            _ if read == 0 => return Some(text.strip_suffix("+OK\r\n").unwrap_or(&text).to_owned()),
            _ => {}
        }
    }
}
