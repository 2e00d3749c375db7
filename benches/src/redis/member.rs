//! One process of a fleet, as the comparison sees it.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;

use super::message::{Order, Task, Word};
use super::worker;

/// A process that ends with this.
pub(super) struct Member {
    process: Child,
    orders: ChildStdin,
}

impl Member {
    /// Starts it. What it says goes to `heard`, with its number; nothing, when it has ended.
    pub(super) fn start(
        number: usize,
        task: &Task,
        heard: Sender<(usize, Option<Word>)>,
    ) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?.with_file_name("redis_worker"))
            .env(worker::VARIABLE, serde_json::to_string(task)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("`redis_worker`: {error}")))?;
        let (orders, says) = (process.stdin.take(), process.stdout.take());
        let (Some(orders), Some(says)) = (orders, says) else { unreachable!("both are piped") };
        std::thread::spawn(move || {
            for line in BufReader::new(says).lines().map_while(Result::ok) {
                let Ok(word) = serde_json::from_str(&line) else { break };
                // Whoever started the process may have lost interest.
                let _ = heard.send((number, Some(word)));
            }
            let _ = heard.send((number, None));
        });
        Ok(Self { process, orders })
    }

    pub(super) fn tell(&mut self, order: Order) -> io::Result<()> {
        writeln!(self.orders, "{}", serde_json::to_string(&order)?)?;
        self.orders.flush()
    }

    /// Ends it in the middle of whatever it does.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
