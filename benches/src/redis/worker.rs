//! One process of a fleet.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::sleep;

use super::message::{Herd, Moment, Order, Reply, Task, Word};
use super::peers::AnyShared;
use super::source::Source;
use crate::load::Failure;

/// Holds the task of a process.
pub(super) const VARIABLE: &str = "BENCH_REDIS_WORKER";

/// What is loaded.
const VALUE: usize = 100;

/// Does as it is told until standard input ends.
pub fn run() -> ExitCode {
    // One thread: who is told of as having called has called.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let worked = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(work()));
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&Word::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

async fn work() -> Result<(), Box<dyn Error + Send + Sync>> {
    let task: Task = serde_json::from_str(&std::env::var(VARIABLE)?)?;
    let peer = task.kind.connect(&task.url).await?;
    let (mut herds, released) = listen();
    say(&Word::Ready);
    while let Some(herd) = herds.recv().await {
        let desk = Arc::new(Desk { herd, released: released.clone(), ends: Mutex::default() });
        let replies = ask(&peer, &desk).await?;
        let ends = desk.ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        say(&Word::Done { replies, ends });
    }
    Ok(())
}

/// Reads orders on a thread of its own, so that a process whose parent has gone ends whatever it is doing.
fn listen() -> (mpsc::UnboundedReceiver<Herd>, watch::Receiver<u64>) {
    let (sender, herds) = mpsc::unbounded_channel();
    let (release, released) = watch::channel(0);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Order::Ask(herd)) => drop(sender.send(herd)),
                Ok(Order::Release { key }) => drop(release.send_replace(key)),
                Err(_) => break,
            }
        }
        std::process::exit(0);
    });
    (herds, released)
}

/// Where the loads of a herd are made.
struct Desk {
    herd: Herd,
    released: watch::Receiver<u64>,
    ends: Mutex<Vec<Moment>>,
}

impl Desk {
    /// It tells of itself, takes its time, and does not end before that is allowed.
    async fn load(&self) -> Result<String, Failure> {
        say(&Word::Loading { at: Moment::now() });
        let mut released = self.released.clone();
        // Never closed: the thread that has the other end ends the process.
        let allowed = async { drop(released.wait_for(|key| *key >= self.herd.key).await) };
        tokio::join!(allowed, sleep(Duration::from_millis(self.herd.load_ms)));
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(Moment::now());
        if self.herd.fails { Err(Failure::Load) } else { Ok("x".repeat(VALUE)) }
    }
}

/// Sends the callers, each a task of its own, and gives what they got.
async fn ask(
    peer: &Arc<dyn AnyShared>,
    desk: &Arc<Desk>,
) -> Result<Vec<Reply>, Box<dyn Error + Send + Sync>> {
    let begun = Arc::new(Semaphore::new(0));
    let calls: Vec<_> = (0..desk.herd.callers)
        .map(|_| {
            let (peer, desk, begun) = (Arc::clone(peer), Arc::clone(desk), Arc::clone(&begun));
            tokio::spawn(async move {
                begun.add_permits(1);
                call(peer, desk).await
            })
        })
        .collect();
    // Never closed: the permits come.
    let _ = begun.acquire_many(u32::try_from(desk.herd.callers)?).await;
    say(&Word::Asked);
    let mut replies = Vec::with_capacity(calls.len());
    for call in calls {
        replies.push(call.await?);
    }
    Ok(replies)
}

async fn call(peer: Arc<dyn AnyShared>, desk: Arc<Desk>) -> Reply {
    let loaded = Arc::new(AtomicBool::new(false));
    let (key, ours) = (desk.herd.key, Arc::clone(&loaded));
    let source = Source::of(move || {
        ours.store(true, Ordering::Relaxed);
        let desk = Arc::clone(&desk);
        async move { desk.load().await }
    });
    let answer = peer.get(key, source).await;
    Reply { at: Moment::now(), loaded: loaded.load(Ordering::Relaxed), error: answer.is_err() }
}

/// One line to whoever started this; where nobody reads any more, the process has no purpose.
fn say(word: &Word) {
    let said = serde_json::to_string(word).map_err(io::Error::from).and_then(|line| {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    });
    if said.is_err() {
        std::process::exit(1);
    }
}
