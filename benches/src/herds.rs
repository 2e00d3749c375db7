//! Many callers of one key at once, each a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::load::{Answer, Load, fresh_key};
use crate::machine;
use crate::peer::Peer;
use crate::peers::{
    Amalgam, Cached, CachedByKey, Foyer, Hitbox, MokaGetWith, MokaTryGetWith, Ours, OursByHand, OursSpawned,
    Quick,
};
use crate::report::{Table, publish};
use crate::rounds::{Contender, Measured, take_turns};

/// Callers, and how often they are measured.
const HERDS: [(usize, usize); 3] = [(200, 301), (10_000, 41), (100_000, 11)];

/// A peer that takes longer than this for its first herd is left out.
const PATIENCE: Duration = Duration::from_secs(5);

/// When the load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// When it begins.
    AtOnce,
    /// Not before everybody waits.
    WhenAllHaveCalled,
}

#[derive(Serialize)]
struct Record {
    callers: usize,
    end: End,
    /// The most that any herd of a peer took.
    loads: Vec<(&'static str, u64)>,
    measured: Vec<Measured>,
    left_out: Vec<&'static str>,
}

/// Runs it.
///
/// # Errors
///
/// Those of writing.
pub fn run() -> std::io::Result<()> {
    let before = machine::load();
    let (mut tables, mut records) = (Vec::new(), Vec::new());
    for end in [End::WhenAllHaveCalled, End::AtOnce] {
        for (callers, rounds) in HERDS {
            let (table, record) = compare(callers, rounds, end);
            tables.push(table);
            records.push(record);
        }
    }
    publish("herds", &machine::about(&before), &tables, &records)
}

fn compare(callers: usize, rounds: usize, end: End) -> (Table, Record) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut entrants = vec![
        Entrant::spawning(&runtime, callers),
        Entrant::waiting(&runtime, callers),
        Entrant::of::<Ours>(&runtime, callers, end),
        Entrant::of::<OursSpawned>(&runtime, callers, end),
        Entrant::of::<OursByHand>(&runtime, callers, end),
        Entrant::of::<MokaGetWith>(&runtime, callers, end),
        Entrant::of::<MokaTryGetWith>(&runtime, callers, end),
        Entrant::of::<Quick>(&runtime, callers, end),
        Entrant::of::<Cached>(&runtime, callers, end),
        Entrant::of::<CachedByKey>(&runtime, callers, end),
        Entrant::of::<Foyer>(&runtime, callers, end),
        Entrant::of::<Hitbox>(&runtime, callers, end),
        Entrant::of::<Amalgam>(&runtime, callers, end),
    ];
    let mut left_out = Vec::new();
    entrants.retain_mut(|entrant| {
        eprintln!("herd of {callers}, {end:?}: {}", entrant.name);
        let in_time = (entrant.go)() < PATIENCE.as_secs_f64() * 1e3;
        if !in_time {
            left_out.push(entrant.name);
        }
        in_time
    });
    let loads: Vec<_> = entrants.iter().map(|entrant| (entrant.name, Arc::clone(&entrant.loads))).collect();
    let mut contenders: Vec<_> =
        entrants.into_iter().map(|entrant| Contender::new(entrant.name, entrant.go)).collect();
    let measured = take_turns(&mut contenders, rounds);
    drop(contenders);
    let loads: Vec<_> = loads.into_iter().map(|(name, loads)| (name, loads.load(Ordering::SeqCst))).collect();
    let mut table = table(callers, rounds, end, &measured, &loads);
    for name in &left_out {
        let took = format!("more than {} for the first; left out", PATIENCE.as_millis());
        table.rows.push(vec![(*name).to_owned(), took, String::new(), String::new()]);
    }
    (table, Record { callers, end, loads, measured, left_out })
}

fn table(callers: usize, rounds: usize, end: End, measured: &[Measured], loads: &[(&str, u64)]) -> Table {
    let ends = match end {
        End::AtOnce => "The load returns at once",
        End::WhenAllHaveCalled => "The load ends when all have called",
    };
    let what = format!(
        "{ends}; two worker threads; from the first `spawn` until all tasks are joined, {rounds} times. Loads: the most of any time."
    );
    let title = format!("{callers} callers of one key, {}", ends.to_lowercase());
    let mut table =
        Table::new(&title, &what, ["", "ms, median (half are between)", "ratio to spawning", "loads"]);
    for (measured, (_, loads)) in measured.iter().zip(loads) {
        table.rows.push(vec![
            measured.name.clone(),
            measured.cost.show(2),
            measured.ratio.show(2),
            loads.to_string(),
        ]);
    }
    table
}

/// A contender, with the most loads that a herd of it ever began.
struct Entrant<'a> {
    name: &'static str,
    loads: Arc<AtomicU64>,
    go: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Entrant<'a> {
    /// Tasks that only count themselves.
    fn spawning(runtime: &'a Runtime, callers: usize) -> Self {
        let go = move || {
            runtime.block_on(async move {
                let arrivals = Arc::new(AtomicUsize::new(0));
                timed(callers, || {
                    let arrivals = Arc::clone(&arrivals);
                    async move {
                        arrivals.fetch_add(1, Ordering::Relaxed);
                        Ok(1)
                    }
                })
                .await
            })
        };
        Self { name: "spawning the tasks alone", loads: Arc::default(), go: Box::new(go) }
    }

    /// Tasks that all wait for the last of them, by the least means that there is.
    fn waiting(runtime: &'a Runtime, callers: usize) -> Self {
        let go = move || {
            runtime.block_on(async move {
                let (arrivals, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
                timed(callers, || {
                    let (arrivals, all) = (Arc::clone(&arrivals), Arc::clone(&all));
                    async move {
                        let notified = all.notified();
                        if arrivals.fetch_add(1, Ordering::AcqRel) + 1 == callers {
                            all.notify_waiters();
                        } else {
                            notified.await;
                        }
                        Ok(1)
                    }
                })
                .await
            })
        };
        Self { name: "tasks that wait for one `Notify`", loads: Arc::default(), go: Box::new(go) }
    }

    /// Tasks that call a peer.
    fn of<P: Peer>(runtime: &'a Runtime, callers: usize, end: End) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let loads = Arc::clone(&most);
        let peer = Arc::new(P::new());
        let go = move || {
            let peer = Arc::clone(&peer);
            let (took, loads) = runtime.block_on(herd(peer, callers, end));
            most.fetch_max(loads, Ordering::SeqCst);
            took
        };
        Self { name: P::NAME, loads, go: Box::new(go) }
    }
}

/// One herd on a key of its own: milliseconds, and loads.
async fn herd<P: Peer>(peer: Arc<P>, callers: usize, end: End) -> (f64, u64) {
    let key = fresh_key();
    let loads = Arc::new(AtomicU64::new(0));
    let (open, gate) = watch::channel(false);
    let load = {
        let loads = Arc::clone(&loads);
        Load::of(move || {
            loads.fetch_add(1, Ordering::SeqCst);
            let mut gate = gate.clone();
            async move {
                if end == End::WhenAllHaveCalled {
                    // An error where the herd was given up.
                    let _ = gate.wait_for(|open| *open).await;
                }
                Ok(1)
            }
        })
    };
    let (arrivals, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(open));
    let took = timed(callers, || {
        let (peer, load) = (Arc::clone(&peer), load.clone());
        let (arrivals, open) = (Arc::clone(&arrivals), Arc::clone(&open));
        async move {
            if arrivals.fetch_add(1, Ordering::AcqRel) + 1 == callers {
                open.send_replace(true);
            }
            peer.get(key, load).await
        }
    })
    .await;
    (took, loads.load(Ordering::SeqCst))
}

/// Spawns so many tasks and joins them: milliseconds, which are more than anybody's patience where that ends first.
async fn timed<F>(callers: usize, mut task: impl FnMut() -> F) -> f64
where
    F: Future<Output = Answer> + Send + 'static,
{
    let start = Instant::now();
    let mut tasks: Vec<JoinHandle<Answer>> = (0..callers).map(|_| tokio::spawn(task())).collect();
    let joined = tokio::time::timeout(PATIENCE, async {
        for task in &mut tasks {
            let answer = task.await.expect("no task panics");
            assert!(answer.is_ok(), "no load fails: {answer:?}");
        }
    })
    .await;
    let took = start.elapsed();
    if joined.is_err() {
        tasks.iter().for_each(JoinHandle::abort);
    }
    took.as_secs_f64() * 1e3
}
