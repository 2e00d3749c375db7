//! What clients send to the server, as the server tells it (`MONITOR`).
//!
//! `INFO commandstats` would count the commands inside scripts, too, and those of everybody else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::{Client, Cmd, RedisError, Value};

/// Listens for as long as the program runs.
#[derive(Debug)]
pub(crate) struct Monitor {
    lines: Arc<Mutex<Vec<String>>>,
}

/// What was sent: the steps of the protocol (`PROTOCOL.md`), as commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Renewals, subscriptions, and scripts sent in full to a server that had not seen them are counted apart.
    pub(crate) commands: u64,
    /// A read is two commands in one round trip, a large record's publish as well.
    pub(crate) round_trips: u64,
}

impl Monitor {
    /// `None` where the server does not let us.
    pub(crate) fn start(url: &str) -> Result<Option<Self>, RedisError> {
        let mut connection = Client::open(url)?.get_connection()?;
        connection.send_packed_command(&Cmd::new().arg("MONITOR").get_packed_command())?;
        match connection.recv_response() {
            Ok(Value::ServerError(_)) => return Ok(None),
            Err(error) if error.code().is_some() => return Ok(None),
            answer => answer?,
        };
        let lines = Arc::new(Mutex::new(Vec::new()));
        let ours = lines.clone();
        std::thread::spawn(move || {
            while let Ok(Value::SimpleString(line)) = connection.recv_response() {
                lock(&ours).push(line);
            }
        });
        Ok(Some(Self { lines }))
    }

    /// Whether this has been seen.
    pub(crate) fn has_seen(&self, text: &str) -> bool {
        lock(&self.lines).iter().rev().any(|line| line.contains(text))
    }

    /// Forgets what was seen so far.
    pub(crate) fn clear(&self) {
        lock(&self.lines).clear();
    }

    /// What was sent about keys of this namespace.
    pub(crate) fn sent(&self, namespace: &str) -> Sent {
        let mut sent = Sent::default();
        let ours = format!("{{{namespace}:");
        for line in lock(&self.lines).iter().filter(|line| line.contains(&ours)) {
            let (commands, round_trips) = weigh(line);
            sent.commands += commands;
            sent.round_trips += round_trips;
        }
        sent
    }
}

/// Commands and round trips that a line counts for: `<time> [<database> <address or lua>] "COMMAND" "argument" …`.
fn weigh(line: &str) -> (u64, u64) {
    let Some((origin, command)) = line.split_once("] ") else { return (0, 0) };
    if origin.ends_with(" lua") {
        return (0, 0);
    }
    let mut words = command.split('"').skip(1).step_by(2);
    let (name, first, second) = (words.next(), words.next(), words.next());
    match name {
        // A renewal is the one script of a single key.
        Some("EVALSHA") if second == Some("1") => (0, 0),
        Some("EVALSHA" | "GET") => (1, 1),
        // The other half of a read; a lease's is asked for by this program.
        Some("PTTL") if first.is_some_and(|key| key.ends_with('v')) => (1, 0),
        Some("SET") => (1, 0),
        _ => (0, 0),
    }
}

fn lock(lines: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::weigh;

    #[test]
    fn steps_weigh_what_they_cost() {
        for (line, weight) in [
            (r#"1.5 [0 127.0.0.1:1] "PTTL" "sf:{n:user:1}v""#, (1, 0)),
            (r#"1.5 [0 127.0.0.1:1] "GET" "sf:{n:user:1}v""#, (1, 1)),
            (r#"1.5 [0 lua] "GET" "sf:{n:user:1}l""#, (0, 0)),
            (r#"1.5 [0 127.0.0.1:1] "PTTL" "sf:{n:user:1}l""#, (0, 0)),
            (r#"1.5 [0 127.0.0.1:1] "EVALSHA" "0a" "3" "sf:{n:user:1}v" "\x01\"""#, (1, 1)),
            (r#"1.5 [0 127.0.0.1:1] "EVALSHA" "0a" "1" "sf:{n:user:1}l" "\x01""#, (0, 0)),
            (r#"1.5 [0 127.0.0.1:1] "EVAL" "return 1" "3" "sf:{n:user:1}v""#, (0, 0)),
            (r#"1.5 [0 127.0.0.1:1] "SET" "sf:{n:user:1}x0a" "\x01" "PX" "30000""#, (1, 0)),
            (r#"1.5 [0 127.0.0.1:1] "SUBSCRIBE" "sf:{n:user:1}w""#, (0, 0)),
            ("OK", (0, 0)),
        ] {
            assert_eq!(weigh(line), weight, "{line}");
        }
    }
}
