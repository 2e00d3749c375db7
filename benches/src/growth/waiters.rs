//! How soon all who wait for one load are answered when it has ended.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};

use super::bell::Bell;
use crate::load::{Load, fresh_key};
use crate::peer::Peer;
use crate::peers::{MokaGetWith, Ours, OursSpawned, Quick};
use crate::report::Table;
use crate::rounds::{Spread, turns};

/// Who waits, and how often that is measured.
const HERDS: [(usize, usize); 6] = [(1, 201), (10, 201), (100, 101), (1_000, 41), (10_000, 11), (100_000, 5)];
/// Who is not answered by then never will be.
const PATIENCE: Duration = Duration::from_secs(30);

/// So many waiters of one peer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Waited {
    /// The peer.
    pub name: String,
    /// How many wait.
    pub waiters: usize,
    /// Microseconds from the load's end until the last is answered.
    pub all: Spread,
    /// The same, divided by their number.
    pub each: Spread,
    /// Microseconds until ninety-nine of a hundred are.
    pub p99: Spread,
    /// Each round.
    rounds: Vec<Late>,
}

/// One herd, in microseconds after the load's end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Late {
    p50: f64,
    p99: f64,
    last: f64,
}

type Go<'a> = Box<dyn Fn() -> Late + 'a>;

/// Measures it.
pub(super) fn measure() -> Vec<Waited> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    HERDS.iter().flat_map(|&(waiters, rounds)| compare(&runtime, waiters, rounds)).collect()
}

fn compare(runtime: &Runtime, waiters: usize, rounds: usize) -> Vec<Waited> {
    let entrants = [
        entrant::<Bell>(runtime, waiters),
        entrant::<Ours>(runtime, waiters),
        entrant::<OursSpawned>(runtime, waiters),
        entrant::<MokaGetWith>(runtime, waiters),
        entrant::<Quick>(runtime, waiters),
    ];
    let mut lates = vec![Vec::with_capacity(rounds); entrants.len()];
    for (name, go) in &entrants {
        eprintln!("growth: {waiters} waiters, {name}");
        go();
    }
    for turn in turns(entrants.len(), rounds) {
        lates[turn].push((entrants[turn].1)());
    }
    entrants.iter().zip(lates).map(|((name, _), lates)| Waited::of(name, waiters, lates)).collect()
}

fn entrant<P: Peer>(runtime: &Runtime, waiters: usize) -> (&'static str, Go<'_>) {
    let peer = Arc::new(P::new());
    let go = move || {
        let herd = Herd::new(Arc::clone(&peer), waiters);
        let herd = runtime.block_on(async { tokio::time::timeout(PATIENCE, herd.run()).await });
        herd.expect("everybody is answered")
    };
    (P::NAME, Box::new(go))
}

impl Waited {
    fn of(name: &str, waiters: usize, rounds: Vec<Late>) -> Self {
        let spread = |of: fn(&Late) -> f64| Spread::of(rounds.iter().map(of).collect());
        let all = spread(|late| late.last);
        let each = Spread::of(rounds.iter().map(|late| late.last / waiters as f64).collect());
        Self { name: name.to_owned(), waiters, all, each, p99: spread(|late| late.p99), rounds }
    }
}

/// Callers of one key: one who loads and those who wait.
struct Herd<P> {
    peer: Arc<P>,
    key: u64,
    callers: usize,
    /// Callers that wait, the one who loads included.
    waiting: AtomicUsize,
    /// Opened when all do.
    gate: watch::Sender<bool>,
    /// Which caller loads.
    leader: OnceLock<usize>,
    /// When the load ended.
    ended: OnceLock<Instant>,
    answered: AtomicUsize,
    all_answered: Notify,
}

impl<P: Peer> Herd<P> {
    fn new(peer: Arc<P>, waiters: usize) -> Arc<Self> {
        Arc::new(Self {
            peer,
            key: fresh_key(),
            callers: waiters + 1,
            waiting: AtomicUsize::new(0),
            gate: watch::Sender::new(false),
            leader: OnceLock::new(),
            ended: OnceLock::new(),
            answered: AtomicUsize::new(0),
            all_answered: Notify::new(),
        })
    }

    async fn run(self: Arc<Self>) -> Late {
        let callers: Vec<_> =
            (0..self.callers).map(|caller| tokio::spawn(Arc::clone(&self).call(caller))).collect();
        // Tasks are joined afterwards, so that nothing but the waiters is woken meanwhile.
        self.all_answered.notified().await;
        let mut lates = Vec::with_capacity(self.callers);
        let ended = *self.ended.get().expect("the load has ended");
        for (caller, task) in callers.into_iter().enumerate() {
            let answered = task.await.expect("no task panics");
            if self.leader.get() != Some(&caller) {
                lates.push(answered.saturating_duration_since(ended).as_secs_f64() * 1e6);
            }
        }
        assert_eq!(lates.len() + 1, self.callers, "one loads, the others wait");
        lates.sort_by(f64::total_cmp);
        let at = |hundredth: usize| lates[(lates.len() * hundredth).div_ceil(100) - 1];
        Late { p50: at(50), p99: at(99), last: at(100) }
    }

    /// When it was answered.
    async fn call(self: Arc<Self>, caller: usize) -> Instant {
        let load = Arc::clone(&self).load(caller);
        let answer = self.noticed(self.peer.get(self.key, load)).await;
        let at = Instant::now();
        assert!(answer.is_ok(), "no load fails: {answer:?}");
        if self.answered.fetch_add(1, Ordering::AcqRel) + 1 == self.callers {
            self.all_answered.notify_one();
        }
        at
    }

    /// A load that ends when everybody waits.
    fn load(self: Arc<Self>, caller: usize) -> Load {
        Load::of(move || {
            let herd = Arc::clone(&self);
            herd.leader.set(caller).expect("one load");
            async move {
                let opened = herd.gate.subscribe().wait_for(|open| *open).await.is_ok();
                herd.ended.set(Instant::now()).expect("one load");
                assert!(opened, "the herd has its gate");
                Ok(1)
            }
        })
    }

    /// The call, which opens the gate if it is the last one to wait.
    async fn noticed<F: Future>(&self, call: F) -> F::Output {
        let mut call = pin!(call);
        let mut waits = false;
        poll_fn(|cx| {
            let polled = call.as_mut().poll(cx);
            if polled.is_pending() && !waits {
                waits = true;
                if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.callers {
                    self.gate.send_replace(true);
                }
            }
            polled
        })
        .await
    }
}

/// One table of all.
pub(super) fn table(waited: &[Waited]) -> Table {
    let rounds: Vec<_> = HERDS.iter().map(|(waiters, rounds)| format!("{rounds} times {waiters}")).collect();
    let what = format!(
        "One caller loads, the others wait, each in a task of its own; two worker threads. From the end of the load, which ends when all others wait, until the last of them has its answer, and until 99 of 100 have ({}).",
        rounds.join(", ")
    );
    let head = ["", "waiters", "all, µs (half are between)", "for each waiter, ns", "99 of 100, µs"];
    let mut table = Table::new("Waiters of one key, after the end of the load", &what, head);
    for one in waited {
        table.rows.push(vec![
            one.name.clone(),
            one.waiters.to_string(),
            one.all.show(1),
            format!("{:.0}", one.each.median * 1e3),
            one.p99.show(1),
        ]);
    }
    table
}
