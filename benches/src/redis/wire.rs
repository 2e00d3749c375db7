//! What clients send to the server, as the server tells it (`MONITOR`), by herd: every command, pipelined or not, but
//! not those inside of scripts.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use redis::Connection;

use super::server::Server;

/// How long the server may take to tell.
const LIMIT: Duration = Duration::from_secs(10);

/// Names of commands, and how often each was sent.
pub(super) type Commands = BTreeMap<String, u64>;

/// Listens until it is dropped.
pub(super) struct Wire {
    stream: TcpStream,
    thread: Option<JoinHandle<()>>,
    seen: Arc<Seen>,
    /// Of database 0, which nobody else uses.
    marks: Connection,
    marked: u64,
}

#[derive(Default)]
struct Seen {
    ledger: Mutex<Ledger>,
    marked: Condvar,
}

#[derive(Default)]
struct Ledger {
    /// The key of the herd that each database has now: whose commands name no key that can be read here.
    current: HashMap<u8, u64>,
    sent: HashMap<u64, Commands>,
    marked: u64,
}

impl Wire {
    pub(super) fn listen(server: &Server) -> io::Result<Self> {
        let mut stream = TcpStream::connect(server.address())?;
        stream.write_all(b"MONITOR\r\n")?;
        let mut lines = BufReader::new(stream.try_clone()?);
        let mut answer = String::new();
        lines.read_line(&mut answer)?;
        if answer.trim_end() != "+OK" {
            return Err(io::Error::other(format!("MONITOR: {answer}")));
        }
        let seen = Arc::new(Seen::default());
        let ours = Arc::clone(&seen);
        let thread = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                lock(&ours.ledger).add(&line);
                ours.marked.notify_all();
            }
        });
        let marks = server.connect(0).map_err(io::Error::other)?;
        Ok(Self { stream, thread: Some(thread), seen, marks, marked: 0 })
    }

    /// What a database is sent from now on is on behalf of this key, unless it names another.
    pub(super) fn begin(&mut self, database: u8, key: u64) -> io::Result<()> {
        self.mark(&format!("begin {database} {key}"))
    }

    /// What was sent for a key so far.
    pub(super) fn sent(&mut self, key: u64) -> io::Result<Commands> {
        self.marked += 1;
        let mark = self.marked;
        self.mark(&format!("mark {mark}"))?;
        let waited =
            self.seen.marked.wait_timeout_while(lock(&self.seen.ledger), LIMIT, |seen| seen.marked < mark);
        let (ledger, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(io::Error::other("the server does not tell what it was sent"));
        }
        Ok(ledger.sent.get(&key).cloned().unwrap_or_default())
    }

    fn mark(&mut self, text: &str) -> io::Result<()> {
        redis::cmd("ECHO").arg(text).query::<String>(&mut self.marks).map(drop).map_err(io::Error::other)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Ledger {
    /// A line: `+<time> [<database> <address, or lua>] "COMMAND" "argument" …`.
    fn add(&mut self, line: &str) {
        let Some((database, command)) = parse(line) else { return };
        let mut words = command.split('"').skip(1).step_by(2);
        let Some(name) = words.next() else { return };
        if database == 0 {
            if name.eq_ignore_ascii_case("ECHO") {
                self.obey(words.next().unwrap_or_default());
            }
            return;
        }
        let Some(key) = key(command).or_else(|| self.current.get(&database).copied()) else { return };
        *self.sent.entry(key).or_default().entry(name.to_uppercase()).or_default() += 1;
    }

    fn obey(&mut self, mark: &str) {
        let words: Vec<&str> = mark.split(' ').collect();
        if let ["begin", database, key] = words[..]
            && let (Ok(database), Ok(key)) = (database.parse(), key.parse())
        {
            self.current.insert(database, key);
        }
        if let ["mark", number] = words[..]
            && let Ok(number) = number.parse()
        {
            self.marked = number;
        }
    }
}

/// Database and command, where a client sent it.
fn parse(line: &str) -> Option<(u8, &str)> {
    let (origin, command) = line.split_once("] ")?;
    let (_, origin) = origin.split_once('[')?;
    let (database, client) = origin.split_once(' ')?;
    if client == "lua" { None } else { Some((database.parse().ok()?, command)) }
}

/// The key that it names.
fn key(command: &str) -> Option<u64> {
    let (_, rest) = command.split_once("row:")?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Commands, Ledger};

    #[test]
    fn commands_are_counted_for_the_herd_that_they_belong_to() {
        let mut ledger = Ledger::default();
        for line in [
            r#"+1.5 [0 127.0.0.1:1] "ECHO" "begin 3 70""#,
            r#"+1.5 [3 127.0.0.1:2] "GET" "row:70""#,
            r#"+1.5 [3 127.0.0.1:2] "get" "row:70""#,
            r#"+1.5 [3 lua] "GET" "row:70:lock""#,
            r#"+1.5 [3 127.0.0.1:2] "HMGET" "markers" "e""#,
            r#"+1.5 [3 127.0.0.1:2] "UNSUBSCRIBE" "sf:{row:69}w""#,
            r#"+1.5 [2 127.0.0.1:3] "PING""#,
            r#"+1.5 [0 127.0.0.1:1] "ECHO" "mark 7""#,
        ] {
            ledger.add(line);
        }
        let commands = |list: &[(&str, u64)]| -> Commands {
            list.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect()
        };
        assert_eq!(ledger.sent[&70], commands(&[("GET", 2), ("HMGET", 1)]));
        assert_eq!(ledger.sent[&69], commands(&[("UNSUBSCRIBE", 1)]));
        assert_eq!((ledger.sent.len(), ledger.marked), (2, 7));
    }
}
