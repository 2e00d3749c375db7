//! A member that is a process of the operating system, from inside: what runs where the lab was started by itself.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use singleflight_redis::RedisBackend;
use tokio::sync::{mpsc, oneshot};

use super::life::{Life, World};
use super::{Last, MemberError, Order, Spec};
use crate::clock::{RaceClock, moment_at};
use crate::items::{Reads, Row};
use crate::tell::Tell;
use crate::watched::Way;
use crate::wire::What;

/// Holds the task of a process that was started by the lab.
pub(crate) const VARIABLE: &str = "SINGLEFLIGHT_LAB_WORKER";

/// What is counted here are loads, and a busy machine is not to add some: so long for an answer of the server. A
/// service takes the defaults.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What a worker is started for.
#[derive(Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) spec: Spec,
    pub(crate) url: String,
}

/// What a worker is told, one JSON document a line. The end of its standard input ends it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// The race began when the machine's clock showed this.
    Go {
        us: u64,
    },
    Drop {
        call: u32,
    },
    Hold {
        call: u32,
    },
    Release {
        call: u32,
    },
    Invalidate {
        key: u32,
    },
    Cut {
        cut: bool,
    },
    /// The source's answer.
    Row {
        ask: u64,
        row: Result<Row, String>,
    },
    Finish,
}

/// What a worker says, the same way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Heard {
    Ready,
    Failed {
        message: String,
    },
    Said {
        t: f64,
        what: What,
    },
    /// A question to the source.
    Read {
        ask: u64,
        process: u32,
        key: u32,
        call: u32,
    },
    /// Nobody waits for its answer any more.
    Gone {
        ask: u64,
    },
    Last(Last),
}

/// Does as it is told until standard input ends.
pub(crate) fn run(task: &str) -> ExitCode {
    // One thread, as the members that are threads have.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let worked = runtime.map_err(MemberError::new).and_then(|runtime| runtime.block_on(work(task)));
    match worked {
        Ok(last) => {
            say(&Heard::Last(last));
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&Heard::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

async fn work(task: &str) -> Result<Last, MemberError> {
    let Task { spec, url } = serde_json::from_str(task).map_err(MemberError::new)?;
    // Ctrl-C reaches all processes of a terminal; this one ends with the lab.
    tokio::spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    let backend = RedisBackend::builder(&url).dial_timeout(PATIENCE).response_timeout(PATIENCE);
    let store = Arc::new(backend.connect().await.map_err(MemberError::new)?);
    let clock = Arc::new(RaceClock::default());
    let (source, way) = (Arc::new(Remote::default()), Arc::new(Way::default()));
    let (sender, mut orders) = mpsc::unbounded_channel();
    listen(sender, source.clone(), way.clone());
    let tell = Arc::new(Speaker { clock: clock.clone() });
    let life = Life::set_up(spec, World { clock, tell, source, store: Some(store), way }).await?;
    say(&Heard::Ready);
    // It stands still when it is sent the signal for it.
    Ok(life.live(&mut orders, || {}).await)
}

/// Reads on a thread of its own, so that a process whose lab has gone ends whatever it is doing.
fn listen(orders: mpsc::UnboundedSender<Order>, source: Arc<Remote>, way: Arc<Way>) {
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(told) = serde_json::from_str(&line) else { break };
            let order = match told {
                Told::Go { us } => Order::Go(moment_at(us)),
                Told::Drop { call } => Order::Drop(call),
                Told::Hold { call } => Order::Hold(call),
                Told::Release { call } => Order::Release(call),
                Told::Invalidate { key } => Order::Invalidate(key),
                Told::Finish => Order::Finish,
                Told::Cut { cut } => {
                    way.cut(cut);
                    continue;
                }
                Told::Row { ask, row } => {
                    source.answer(ask, row);
                    continue;
                }
            };
            // It may be about to end.
            let _ = orders.send(order);
        }
        std::process::exit(0);
    });
}

/// The source, which is in the lab.
#[derive(Debug, Default)]
struct Remote {
    asked: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Row, String>>>>,
}

impl Remote {
    fn answer(&self, ask: u64, row: Result<Row, String>) {
        if let Some(waiting) = self.waiting().remove(&ask) {
            // Whoever asked may have gone.
            let _ = waiting.send(row);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Row, String>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Reads for Remote {
    async fn read(&self, process: u32, key: u32, call: u32) -> Result<Row, Arc<str>> {
        let ask = self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(ask, sender);
        let asked = Asked { source: self, ask };
        say(&Heard::Read { ask, process, key, call });
        let row = answer.await;
        drop(asked);
        row.unwrap_or_else(|_| Err("the source has gone".to_owned())).map_err(Arc::from)
    }
}

/// A question under way; when nobody waits for its answer any more, the source hears of it.
struct Asked<'a> {
    source: &'a Remote,
    ask: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.source.waiting().remove(&self.ask).is_some() {
            say(&Heard::Gone { ask: self.ask });
        }
    }
}

/// Tells the lab.
struct Speaker {
    clock: Arc<RaceClock>,
}

#[async_trait]
impl Tell for Speaker {
    fn tell(&self, what: What) {
        say(&Heard::Said { t: self.clock.ms(), what });
    }

    /// A pipe holds only so much: whoever says more waits in `say`.
    async fn room(&self) {}
}

/// One line to the lab; where nobody reads any more, the process has no purpose.
fn say(heard: &Heard) {
    let said = serde_json::to_string(heard).map_err(io::Error::from).and_then(|line| {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    });
    if said.is_err() {
        std::process::exit(1);
    }
}
