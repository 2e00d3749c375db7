//! Times of hits: one thread, then several.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use super::{KIND_NAMES, Keys, Kind, Row, Small, User, Way, ways};
use crate::machine;
use crate::report::{Table, publish};
use crate::rounds::{Contender, Measured, take_turns};

const ROUNDS: usize = 301;
const CROWD_ROUNDS: usize = 41;
const CROWDS: [usize; 2] = [2, 8];

#[derive(Serialize)]
struct Record {
    title: String,
    threads: usize,
    measured: Vec<Measured>,
}

/// Runs it.
///
/// # Errors
///
/// Those of writing.
pub fn run() -> std::io::Result<()> {
    let before = machine::load();
    let mut records = Vec::new();
    eprintln!("hits: one thread");
    for (kind, key) in KIND_NAMES {
        records.push(alone::<Small>(kind, key));
        records.push(alone::<User>(kind, key));
    }
    eprintln!("hits: several threads");
    for (order, title) in [(&Keys::get().hot, "one hot key"), (&Keys::get().zipf, "Zipf keys")] {
        records.extend(CROWDS.map(|threads| together(threads, order, title)));
    }
    let tables: Vec<_> = records.iter().map(table).collect();
    publish("hits", &machine::about(&before), &tables, &records)
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// One thread, every key in turn.
fn alone<R: Row>(kind: Kind, key: &str) -> Record {
    let runtime = runtime();
    let order: &'static [u32] = &Keys::get().each;
    let ways = ways::<R>(kind);
    fill(&runtime, &ways);
    let mut contenders: Vec<_> = ways
        .iter()
        .map(|way| {
            Contender::new(way.name, || {
                // Of a cache that is in use: what the others did meanwhile is not its cost.
                runtime.block_on(way.ask(order));
                let start = Instant::now();
                runtime.block_on(way.ask(order));
                start.elapsed().as_nanos() as f64 / order.len() as f64
            })
        })
        .collect();
    let measured = take_turns(&mut contenders, ROUNDS);
    Record { title: format!("A hit, {key}, the value {}", R::NAME), threads: 1, measured }
}

/// Several threads, each with a runtime of its own, that begin together.
fn together(threads: usize, order: &'static [u32], title: &str) -> Record {
    let ways = ways::<Small>(Kind::Number);
    fill(&runtime(), &ways);
    let mut contenders: Vec<_> =
        ways.iter().map(|way| Contender::new(way.name, move || crowd(threads, way, order))).collect();
    let measured = take_turns(&mut contenders, CROWD_ROUNDS);
    let title =
        format!("A hit, {title}, {threads} threads, an integer in the key, the value {}", Small::NAME);
    Record { title, threads, measured }
}

/// From the moment when all are ready until the last has done: nanoseconds for each call of all threads.
fn crowd(threads: usize, way: &Way, order: &'static [u32]) -> f64 {
    let (ready, done) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = runtime();
                ready.wait();
                runtime.block_on(way.ask(order));
                done.wait();
            });
        }
        ready.wait();
        let start = Instant::now();
        done.wait();
        start.elapsed().as_nanos() as f64 / (threads * order.len()) as f64
    })
}

/// Twice, so that every value is there.
fn fill(runtime: &Runtime, ways: &[Way]) {
    for way in ways {
        for _ in 0..2 {
            runtime.block_on(way.ask(&Keys::get().each));
        }
    }
}

fn table(record: &Record) -> Table {
    let what = if record.threads == 1 {
        format!(
            "1,024 keys in turn, one thread; {ROUNDS} rounds of as many calls, after as many that are not counted."
        )
    } else {
        format!(
            "{} threads with a runtime each, 16,384 calls of each thread, {CROWD_ROUNDS} rounds; time divided by all calls.",
            record.threads
        )
    };
    let head = ["", "ns, median (half are between)", "ratio to the first"];
    let mut table = Table::new(&record.title, &what, head);
    for one in &record.measured {
        table.rows.push(vec![one.name.clone(), one.cost.show(1), one.ratio.show(2)]);
    }
    table
}
