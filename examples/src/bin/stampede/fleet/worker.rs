//! One process of a fleet: what runs where the program was started by itself.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use singleflight_core::control::{self, CallOutcome};
use singleflight_core::observe::{Event, Observer};
use singleflight_core::{NoopBackend, SingleFlight};
use singleflight_redis::RedisBackend;
use tokio::sync::{Semaphore, mpsc};

use super::message::{By, Moment, Order, Outcome, Reply, Task, Word, WorkerBackend};
use crate::database::Database;
use crate::meter::Meter;
use crate::repository::{UserId, Users};

/// Holds the task of a process that was started by this program.
pub(crate) const VARIABLE: &str = "STAMPEDE_WORKER";

/// Whom all callers of a fleet ask for.
pub(crate) const USER: UserId = UserId(1);

/// What is counted here are loads, and a busy machine is not to add some: so long for an answer of the server. A
/// service takes the defaults.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Does as it is told until standard input ends.
pub(crate) fn run(task: &str) -> ExitCode {
    // One thread: who is told of as having asked has asked.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let worked = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(work(task)));
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&Word::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

async fn work(task: &str) -> Result<(), Box<dyn Error>> {
    let task: Task = serde_json::from_str(task)?;
    let database = Database::open(&task.database, Duration::from_millis(task.load_ms)).await?;
    database.meter.hold_after(0);
    let witness = Arc::new(Witness::default());
    let flights = engine(&task.backend, witness.clone()).await?;
    let users = Users::new(database.pool());
    let mut asked = listen(database.meter.clone());
    tokio::spawn(tell_queries(database.meter.clone()));
    // Ctrl-C reaches all processes of a terminal; this one ends with the program that started it.
    tokio::spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    say(&Word::Ready);
    while let Some(callers) = asked.recv().await {
        let replies = ask(&flights, &users, callers).await?;
        let figures = flights.statistics().total;
        let filled = *witness.filled.lock().unwrap_or_else(PoisonError::into_inner);
        say(&Word::Done(Outcome { replies, filled, renewals: figures.renewals, fenced: figures.fenced }));
    }
    Ok(())
}

async fn engine(backend: &WorkerBackend, witness: Arc<Witness>) -> Result<SingleFlight, Box<dyn Error>> {
    let builder = SingleFlight::builder().observer(witness);
    Ok(match backend {
        WorkerBackend::Memory => builder.build(),
        WorkerBackend::Noop => builder.backend(Arc::new(NoopBackend)).build(),
        WorkerBackend::Server { url, namespace } => {
            let backend = RedisBackend::builder(url).dial_timeout(PATIENCE).response_timeout(PATIENCE);
            builder.backend(Arc::new(backend.connect().await?)).namespace(namespace).build()
        }
    })
}

/// Hears of the end of bodies.
#[derive(Debug, Default)]
struct Witness {
    filled: Mutex<Option<Moment>>,
}

impl Observer for Witness {
    fn event(&self, _site: &'static str, _key: &str, event: &Event<'_>) {
        if let Event::Filled { .. } = event {
            *self.filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(Moment::now());
        }
    }
}

/// Reads orders on a thread of its own, so that a process whose parent has gone ends whatever it is doing.
fn listen(meter: Arc<Meter>) -> mpsc::UnboundedReceiver<u32> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Order::Release) => meter.release(),
                Ok(Order::Ask { callers }) => drop(sender.send(callers)),
                Err(_) => break,
            }
        }
        std::process::exit(0);
    });
    receiver
}

async fn tell_queries(meter: Arc<Meter>) {
    for number in 1.. {
        meter.reached(number).await;
        say(&Word::Querying { at: Moment::now() });
    }
}

/// Sends the callers, each a task of its own, and gives what they got.
async fn ask(flights: &SingleFlight, users: &Users, callers: u32) -> Result<Vec<Reply>, Box<dyn Error>> {
    let begun = Arc::new(Semaphore::new(0));
    let calls: Vec<_> = (0..callers)
        .map(|_| {
            let (users, begun) = (users.clone(), begun.clone());
            tokio::spawn(flights.scope(async move {
                begun.add_permits(1);
                call(&users).await
            }))
        })
        .collect();
    // Never closed: the permits come.
    let _ = begun.acquire_many(callers).await;
    say(&Word::Asked);
    let mut replies = Vec::with_capacity(calls.len());
    for call in calls {
        replies.push(call.await?);
    }
    Ok(replies)
}

async fn call(users: &Users) -> Reply {
    let (found, outcomes) = control::outcome(users.find(USER)).await;
    let at = Moment::now();
    let by = match outcomes.last() {
        Some(CallOutcome::Coalesced) => By::Other,
        Some(CallOutcome::Hit | CallOutcome::Stale) => By::Store,
        _ => By::Itself,
    };
    Reply { at, by, revision: found.ok().flatten().map(|user| user.revision) }
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
