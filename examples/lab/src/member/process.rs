//! A member that is a process of the operating system, as the lab sees it.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::worker::{self, Heard, Task, Told};
use super::{Last, MemberError, Order, Spec};
use crate::clock::machine_us;
use crate::side::Side;
use crate::source::{Asked, Source};
use crate::tell::Tell;

/// A process that ends with this.
pub(crate) struct ProcessMember {
    told: mpsc::UnboundedSender<Told>,
    id: u32,
    kill: mpsc::UnboundedSender<()>,
    listening: JoinHandle<Option<Last>>,
    /// Ends it should the lab be killed while it stands still: it could not see that.
    guard: Mutex<Option<Child>>,
}

impl ProcessMember {
    /// Starts the lab once more; comes back when that is set up.
    pub(crate) async fn start(
        spec: Spec,
        url: &str,
        side: Arc<Side>,
        source: Source,
    ) -> Result<Self, MemberError> {
        let task = Task { spec, url: url.to_owned() };
        // In its environment, since a URL may hold a password and command lines are public.
        let mut process = Command::new(std::env::current_exe().map_err(MemberError::new)?)
            .env(worker::VARIABLE, serde_json::to_string(&task).map_err(MemberError::new)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(MemberError::new)?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(MemberError::new("a process has no input or output"));
        };
        let id = process.id().unwrap_or_default();
        let (told, telling) = mpsc::unbounded_channel();
        let writing = tokio::spawn(write(input, telling));
        let (ready, is_ready) = oneshot::channel();
        let (kill, killed) = mpsc::unbounded_channel();
        let ears = Ears { side, source, told: told.clone(), ready: Some(ready), loads: Loads::default() };
        let listening = tokio::spawn(async move {
            let last = ears.listen(process, BufReader::new(output).lines(), killed).await;
            writing.abort();
            last
        });
        let member = Self { told, id, kill, listening, guard: Mutex::default() };
        match is_ready.await {
            Ok(ready) => ready.map(|()| member),
            Err(_) => Err(MemberError::new("a process ended before it was set up")),
        }
    }

    pub(crate) fn tell(&self, order: Order) {
        let told = match order {
            Order::Go(zero) => {
                let ago = u64::try_from(zero.elapsed().as_micros()).unwrap_or_default();
                Told::Go { us: machine_us().saturating_sub(ago) }
            }
            Order::Drop(call) => Told::Drop { call },
            Order::Hold(call) => Told::Hold { call },
            Order::Release(call) => Told::Release { call },
            Order::Invalidate(key) => Told::Invalidate { key },
            Order::Stand => return self.signal("-STOP"),
            Order::Finish => Told::Finish,
            Order::Stop => return self.kill(),
        };
        // It may have ended.
        let _ = self.told.send(told);
    }

    pub(crate) fn cut(&self, cut: bool) {
        let _ = self.told.send(Told::Cut { cut });
    }

    /// Stops it in its tracks, as a virtual machine that is moved.
    pub(crate) fn pause(&self) {
        let guard = guard(self.id).ok();
        *self.guard.lock().unwrap_or_else(PoisonError::into_inner) = guard;
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Ends it in the middle of whatever it does.
    pub(crate) fn kill(&self) {
        let _ = self.kill.send(());
    }

    /// Sends a signal that the standard library cannot, by the system's own `kill`.
    fn signal(&self, signal: &str) {
        if !self.listening.is_finished() {
            let kill = std::process::Command::new("kill")
                .args([signal, &self.id.to_string()])
                .stderr(Stdio::null())
                .status();
            drop(kill);
        }
    }

    pub(crate) async fn ended(&self) {
        self.told.closed().await;
    }

    /// What it has counted, when it has ended; `None` if it was killed.
    pub(crate) async fn last(self) -> Option<Last> {
        self.listening.await.ok().flatten()
    }
}

/// Kills a process when the lab has gone: waits for that on its standard input.
fn guard(process: u32) -> std::io::Result<Child> {
    Command::new("sh")
        .args(["-c", "trap '' INT; read -r _; kill -KILL \"$1\"", "guard", &process.to_string()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

/// Writes what the process is told.
async fn write(mut input: ChildStdin, mut telling: mpsc::UnboundedReceiver<Told>) {
    while let Some(told) = telling.recv().await {
        let Ok(mut line) = serde_json::to_vec(&told) else { continue };
        line.push(b'\n');
        if input.write_all(&line).await.is_err() {
            break;
        }
    }
}

/// Queries that the process has asked, by its number for them.
type Loads = Arc<Mutex<HashMap<u64, Asked>>>;

/// Who listens to a process, and answers it as the source.
struct Ears {
    side: Arc<Side>,
    source: Source,
    told: mpsc::UnboundedSender<Told>,
    ready: Option<oneshot::Sender<Result<(), MemberError>>>,
    loads: Loads,
}

impl Ears {
    async fn listen(
        mut self,
        mut process: Child,
        mut lines: Lines<BufReader<ChildStdout>>,
        mut killed: mpsc::UnboundedReceiver<()>,
    ) -> Option<Last> {
        let mut last = None;
        loop {
            let line = tokio::select! {
                line = lines.next_line() => line,
                _ = killed.recv() => {
                    last = None;
                    break;
                }
            };
            let Ok(Some(line)) = line else { break };
            match serde_json::from_str(&line) {
                Ok(Heard::Last(counted)) => last = Some(counted),
                Ok(heard) => self.hear(heard).await,
                Err(_) => break,
            }
        }
        let _ = process.start_kill();
        let _ = process.wait().await;
        self.loads.lock().unwrap_or_else(PoisonError::into_inner).clear();
        last
    }

    async fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Ready => drop(self.ready.take().map(|ready| ready.send(Ok(())))),
            Heard::Failed { message } => {
                drop(self.ready.take().map(|ready| ready.send(Err(MemberError(message)))));
            }
            Heard::Said { t, what } => {
                self.side.room().await;
                self.side.tell_at(t, &what);
            }
            Heard::Read { ask, process, key, call } => {
                self.side.room().await;
                self.read(ask, (process, key, call));
            }
            Heard::Gone { ask } => {
                drop(self.loads.lock().unwrap_or_else(PoisonError::into_inner).remove(&ask));
            }
            // Taken by whoever reads the lines.
            Heard::Last(_) => {}
        }
    }

    /// Asks the source on the process's behalf.
    fn read(&self, ask: u64, (process, key, call): (u32, u32, u32)) {
        let (asked, query) = self.source.ask(process, key, call);
        self.loads.lock().unwrap_or_else(PoisonError::into_inner).insert(ask, asked);
        let (told, loads) = (self.told.clone(), self.loads.clone());
        tokio::spawn(async move {
            // Whoever asked has gone, if it does not end by itself.
            let Ok(row) = query.await else { return };
            drop(loads.lock().unwrap_or_else(PoisonError::into_inner).remove(&ask));
            let _ = told.send(Told::Row { ask, row: row.map_err(|error| error.to_string()) });
        });
    }
}
