//! One process of the fleet, as the program that started it sees it.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use tokio::sync::mpsc::UnboundedSender;

use super::message::{Order, Task, Word};
use super::{signal, worker};

/// A process that ends with this.
#[derive(Debug)]
pub(crate) struct Member {
    process: Child,
    orders: Option<ChildStdin>,
}

/// What is heard of a process.
#[derive(Debug)]
pub(crate) enum Heard {
    Said(Word),
    /// It has ended, or said what cannot be understood.
    Ended,
}

impl Member {
    /// Starts this program once more. What it says goes to `heard`, with its number.
    pub(crate) fn start(
        number: usize,
        task: &Task,
        heard: UnboundedSender<(usize, Heard)>,
    ) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .env(worker::VARIABLE, serde_json::to_string(task)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = process.stdin.take();
        let says = process.stdout.take();
        let member = Self { process, orders };
        std::thread::spawn(move || {
            let lines = says.into_iter().flat_map(|says| BufReader::new(says).lines());
            // Whoever started the process may have lost interest.
            for line in lines.map_while(Result::ok) {
                let Ok(word) = serde_json::from_str(&line) else { break };
                let _ = heard.send((number, Heard::Said(word)));
            }
            let _ = heard.send((number, Heard::Ended));
        });
        Ok(member)
    }

    pub(crate) fn tell(&mut self, order: Order) -> io::Result<()> {
        let Some(orders) = &mut self.orders else { return Ok(()) };
        writeln!(orders, "{}", serde_json::to_string(&order)?)?;
        orders.flush()
    }

    /// Ends it in the middle of whatever it does.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// Stops it in its tracks, as a virtual machine that is moved.
    pub(crate) fn pause(&self) -> io::Result<()> {
        signal::send("-STOP", &self.process)
    }

    pub(crate) fn resume(&self) -> io::Result<()> {
        signal::send("-CONT", &self.process)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Paused ones too: this signal cannot be put off.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
