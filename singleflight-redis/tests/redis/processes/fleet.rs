//! The test's side of its workers.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use singleflight_tests::server::Server;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};

use super::origin::{Load, Origin};
use super::worker::{HASTY, NEAR, ORIGIN, SERVER};
use crate::rig::{PATIENCE, soon};

/// Another process. It ends with this.
pub(crate) struct Worker {
    process: Child,
    /// Its own number; the child's may be that of a program that started it.
    id: u32,
    input: ChildStdin,
    lines: UnboundedReceiver<String>,
    answers: HashMap<u32, String>,
    told: u32,
}

/// How a worker is started.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner<'a> {
    /// With time-outs as users have them.
    pub(crate) hasty: bool,
    /// With near copies.
    pub(crate) near: bool,
    /// With a clock that is so far from ours, as `faketime` takes it.
    pub(crate) clock: Option<&'a str>,
}

impl Worker {
    /// Starts one that uses the server at this URL.
    pub(crate) async fn start(url: &str, origin: &Origin, manner: Manner<'_>) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut command = match manner.clock {
            None => Command::new(own),
            Some(offset) => {
                let mut command = Command::new("faketime");
                // Only the time of day differs between hosts; what a process measures it measures by itself.
                command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").args(["-f", offset]).arg(own);
                command
            }
        };
        command.args(["--exact", "processes::worker::worker", "--nocapture", "--include-ignored"]);
        command.env(SERVER, url).env(ORIGIN, origin.port().to_string());
        if manner.hasty {
            command.env(HASTY, "1");
        }
        if manner.near {
            command.env(NEAR, "1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, said)) = line.split_once("worker: ")
                    && sender.send(said.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        let input = process.stdin.take().unwrap();
        let mut worker = Self { process, id: 0, input, lines, answers: HashMap::new(), told: 0 };
        worker.id = worker.answer(0).await.parse().unwrap();
        worker
    }

    /// Gives it a command, and the command's number.
    pub(crate) fn tell(&mut self, command: &str) -> u32 {
        self.told += 1;
        writeln!(self.input, "{} {command}", self.told).unwrap();
        self.told
    }

    /// What it says to the command of this number.
    pub(crate) async fn answer(&mut self, number: u32) -> String {
        loop {
            if let Some(answer) = self.answers.remove(&number) {
                return answer;
            }
            let line = timeout(PATIENCE, self.lines.recv()).await.expect("an answer").expect("it lives");
            let (number, answer) = line.split_once(' ').unwrap();
            self.answers.insert(number.parse().unwrap(), answer.to_owned());
        }
    }

    /// What it says to a command.
    pub(crate) async fn ask(&mut self, command: &str) -> String {
        let number = self.tell(command);
        self.answer(number).await
    }

    /// So many calls at once.
    pub(crate) fn calls(&mut self, n: usize, key_and_options: &str) -> Vec<u32> {
        (0..n).map(|_| self.tell(&format!("call {key_and_options}"))).collect()
    }

    /// What these calls got.
    pub(crate) async fn all(&mut self, calls: Vec<u32>) -> Vec<String> {
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(self.answer(call).await);
        }
        answers
    }

    /// Waits until it waits for other processes' fills of so many keys.
    pub(crate) async fn waits(&mut self, keys: usize) {
        let channels = keys.to_string();
        soon("it waits", async || self.ask("state").await.split(' ').nth(1) == Some(&channels)).await;
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.id.to_string()]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", &self.id.to_string()]).status();
        let _ = self.process.wait();
    }
}

/// So many processes.
pub(crate) async fn fleet(server: &Server, origin: &Origin, processes: usize) -> Vec<Worker> {
    fleet_of(&server.url(), origin, processes, Manner::default()).await
}

/// The same on the servers of this URL, all of one manner.
pub(crate) async fn fleet_of(
    url: &str,
    origin: &Origin,
    processes: usize,
    manner: Manner<'_>,
) -> Vec<Worker> {
    let mut fleet = Vec::new();
    for _ in 0..processes {
        fleet.push(Worker::start(url, origin, manner).await);
    }
    fleet
}

/// One after the other calls until one of them loads; gives which, its call and its load. What calls are answered with
/// until then is handed to `answered`.
pub(crate) async fn until_one_loads(
    fleet: &mut [Worker],
    origin: &mut Origin,
    key_and_options: &str,
    mut answered: impl FnMut(&str),
) -> (usize, u32, Load) {
    for at in (0..fleet.len()).cycle() {
        let call = fleet[at].tell(&format!("call {key_and_options}"));
        tokio::select! {
            answer = fleet[at].answer(call) => answered(&answer),
            load = origin.next() => return (at, call, load),
        }
        sleep(Duration::from_millis(10)).await;
    }
    unreachable!("a fleet has processes")
}

/// Takes out the process of this number.
pub(crate) fn take_out(fleet: &mut Vec<Worker>, process: u32) -> Worker {
    let at = fleet.iter().position(|worker| worker.id() == process).expect("one of the fleet");
    fleet.swap_remove(at)
}

/// Asserts that the calls are over and nothing is left of them, in the processes and on the server.
pub(crate) async fn nothing_is_left(fleet: &mut [Worker], server: &Server) {
    for worker in fleet {
        soon("no flight and no subscription is left", async || worker.ask("state").await == "0 0 up").await;
    }
    let leases = || server.keys().into_iter().filter(|key| key.ends_with("}l") || key.contains("}x")).count();
    soon("no lease is left", async || leases() == 0).await;
    server.assert_every_key_ends();
}
