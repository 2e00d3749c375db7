//! The cost of hits and fills, and the memory of a key, in stores of ever more keys.

use std::io;

use serde::{Deserialize, Serialize};

use super::memory;
use super::worker::{Grown, Program, STORES, Told, ask};
use crate::report::Table;
use crate::rounds::{Spread, turns};

/// Keys, and how often they are measured.
const SIZES: [(usize, usize); 7] =
    [(10, 7), (100, 7), (1_000, 7), (10_000, 7), (100_000, 5), (1_000_000, 3), (10_000_000, 1)];
/// Up to this the memory of the process says little of what a store takes: it comes in pages, and earlier ones are used
/// again.
const FEW: usize = 10_000;
/// Beyond this only the process's memory is looked at: allocations are counted at the cost of time.
const MANY: usize = 1_000_000;

/// One store with so many keys.
#[derive(Debug, Serialize, Deserialize)]
pub struct Filled {
    /// The store.
    pub name: String,
    /// How many keys it holds.
    pub keys: usize,
    /// Nanoseconds of a fill.
    pub fill: Spread,
    /// Nanoseconds of a hit.
    pub hit: Spread,
    /// Bytes a key, as the process has them in memory.
    pub resident: Option<Spread>,
    /// Bytes a key, as the allocator was asked for them.
    pub heap: Option<f64>,
    /// Each process.
    goes: Vec<Grown>,
}

/// All stores and sizes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Crowded {
    /// What was measured.
    pub filled: Vec<Filled>,
    /// What was not, and why.
    pub left_out: Vec<String>,
}

/// Measures it.
pub(super) fn measure() -> io::Result<Crowded> {
    let mut crowded = Crowded::default();
    for (keys, rounds) in SIZES {
        let names = STORES.map(|(name, _)| name).into_iter();
        let stores: Vec<&str> = names.filter(|name| crowded.has_room(name, keys)).collect();
        let goes = crowded.take_turns(&stores, keys, rounds)?;
        for (name, goes) in stores.into_iter().zip(goes) {
            if !goes.is_empty() {
                crowded.filled.push(Filled::of(name, keys, goes)?);
            }
        }
    }
    Ok(crowded)
}

impl Crowded {
    /// Whether the machine has room for the store, judged by what the same store took with fewer keys.
    fn has_room(&mut self, name: &str, keys: usize) -> bool {
        let resident =
            self.filled.iter().rfind(|filled| filled.name == name).and_then(|filled| filled.resident);
        let (Some(key), Some(available)) = (resident, memory::available()) else { return true };
        // Tables are there twice while they grow.
        let needed = key.median * 1.5 * keys as f64;
        let fits = needed < available as f64;
        if !fits {
            let (needed, available) = (gigabytes(needed), gigabytes(available as f64));
            let why = format!("for which the machine needed {needed} of memory, and has {available}");
            self.left_out.push(format!("{name} with {keys} keys, {why}"));
        }
        fits
    }

    /// A process for each go, so that in every round each store has one. Who gives up has no more.
    fn take_turns(&mut self, stores: &[&str], keys: usize, rounds: usize) -> io::Result<Vec<Vec<Grown>>> {
        let mut goes = vec![Vec::with_capacity(rounds); stores.len()];
        let mut given_up = vec![false; stores.len()];
        for turn in turns(stores.len(), rounds) {
            if given_up[turn] {
                continue;
            }
            let name = stores[turn];
            eprintln!("growth: {keys} keys, {name}");
            match ask(Program::Timed, name, keys)? {
                Told::Grown(grown) => goes[turn].push(grown),
                Told::GaveUp(why) => {
                    given_up[turn] = true;
                    self.left_out.push(format!("{name} with {keys} keys, {why}"));
                }
            }
        }
        Ok(goes)
    }
}

impl Filled {
    /// Of one go at least.
    fn of(name: &str, keys: usize, goes: Vec<Grown>) -> io::Result<Self> {
        let spread = |of: fn(&Grown) -> f64| Spread::of(goes.iter().map(of).collect());
        let each = |bytes: u64| bytes as f64 / keys as f64;
        let resident: Vec<f64> = goes.iter().filter_map(|go| go.resident).map(each).collect();
        let heap = if keys <= MANY { counted(name, keys)?.map(each) } else { None };
        Ok(Self {
            name: name.to_owned(),
            keys,
            fill: spread(|go| go.fill),
            hit: spread(|go| go.hit),
            resident: (keys >= FEW && !resident.is_empty()).then(|| Spread::of(resident)),
            heap,
            goes,
        })
    }
}

/// What the store has on the heap, counted in a process that is not timed.
fn counted(name: &str, keys: usize) -> io::Result<Option<u64>> {
    match ask(Program::Counted, name, keys)? {
        Told::Grown(grown) => Ok(grown.heap),
        Told::GaveUp(_) => Ok(None),
    }
}

fn gigabytes(bytes: f64) -> String {
    format!("{:.1} GB", bytes / 1e9)
}

/// A table for each number of keys.
pub(super) fn tables(crowded: &Crowded) -> Vec<Table> {
    SIZES.iter().map(|&(keys, rounds)| table(crowded, keys, rounds)).collect()
}

fn table(crowded: &Crowded, keys: usize, rounds: usize) -> Table {
    let mut what = format!(
        "Integers under {keys} keys, each store in a process of its own, {rounds} times: filled from empty, with room for all; then hits of keys at random, one thread. Memory: what the process has more than before, and, counted apart, what was asked of the allocator."
    );
    if keys == SIZES[SIZES.len() - 1].0 && !crowded.left_out.is_empty() {
        what += &format!(" Left out: {}.", crowded.left_out.join("; "));
    }
    let head =
        ["", "a fill, ns (half are between)", "a hit, ns", "process, bytes a key", "heap, bytes a key"];
    let mut table = Table::new(&format!("A store of {keys} keys"), &what, head);
    for filled in crowded.filled.iter().filter(|filled| filled.keys == keys) {
        table.rows.push(vec![
            filled.name.clone(),
            filled.fill.show(0),
            filled.hit.show(0),
            filled.resident.map_or(String::new(), |resident| format!("{:.0}", resident.median)),
            filled.heap.map_or(String::new(), |heap| format!("{heap:.0}")),
        ]);
    }
    table
}
