//! One store in a process of its own, so that the memory that it takes is its own too.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::memory;
use super::store::{
    MokaByNumber, MokaByString, Ours, OursOverQuick, QuickByNumber, QuickByString, Store, loads,
};
use crate::rounds::Spread;

/// The argument by which a process knows that it is one; a store's name and a number of keys follow.
const ARGUMENT: &str = "grown";
/// A store that is not full by then is given up.
const PATIENCE: Duration = Duration::from_secs(180);
/// Keys between looks at the clock.
const CHUNK: usize = 100_000;
/// A fill is measured for so many keys at least, in several stores where they are small.
const FILLS: usize = 2_000;
/// Keys of a store that is only there to warm up.
const FEW: usize = 100;
/// Hits in a batch, and how many batches, of which the first is not counted.
const HITS: usize = 50_000;
const BATCHES: usize = 5;

/// A store that holds so many keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Grown {
    /// Nanoseconds for each key, from the first to the last.
    pub(super) fill: f64,
    /// Nanoseconds, keys at random.
    pub(super) hit: f64,
    /// Bytes that the process has more than before, where that can be told.
    pub(super) resident: Option<u64>,
    /// Bytes on the heap, where they are counted.
    pub(super) heap: Option<u64>,
}

/// What a process says at its end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    Grown(Grown),
    GaveUp(String),
}

/// How to tell the bytes that are on the heap now.
type Heap<'a> = Option<&'a dyn Fn() -> u64>;

type Grow = fn(usize, Heap<'_>) -> Told;

/// All stores, by name; ours come first.
pub(super) const STORES: [(&str, Grow); 6] = [
    (Ours::NAME, grow::<Ours>),
    (OursOverQuick::NAME, grow::<OursOverQuick>),
    (MokaByString::NAME, grow::<MokaByString>),
    (MokaByNumber::NAME, grow::<MokaByNumber>),
    (QuickByString::NAME, grow::<QuickByString>),
    (QuickByNumber::NAME, grow::<QuickByNumber>),
];

/// Which program to start.
#[derive(Clone, Copy, Debug)]
pub(super) enum Program {
    /// This one, whose allocator is the system's.
    Timed,
    /// The one that counts allocations, which costs time.
    Counted,
}

/// Does what the parent process has asked for, if this process was started for that.
///
/// # Errors
///
/// For arguments that a parent does not give.
pub fn worker(heap: Heap<'_>) -> Option<io::Result<()>> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let (name, keys) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let store = STORES.iter().find(|(store, _)| *store == name);
    let (Some((_, grow)), Ok(keys)) = (store, keys.parse()) else {
        return Some(Err(io::Error::other(format!("no store `{name}` of `{keys}` keys"))));
    };
    println!("{}", serde_json::json!(grow(keys, heap)));
    Some(Ok(()))
}

/// Starts such a process, and waits for what it says.
pub(super) fn ask(program: Program, store: &str, keys: usize) -> io::Result<Told> {
    let mut path: PathBuf = std::env::current_exe()?;
    if let Program::Counted = program {
        path.set_file_name("allocations");
    }
    let output = Command::new(&path).args([ARGUMENT, store, &keys.to_string()]).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("{} of {keys} keys: {said}", path.display())));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The key with this number: an odd factor keeps them apart, and spreads them.
const fn key(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Room for so many, and a little more, since stores are divided, and their parts are not filled alike.
const fn room(keys: usize) -> usize {
    keys + keys / 8 + 1_000
}

fn grow<S: Store>(keys: usize, heap: Heap<'_>) -> Told {
    let mut random = fastrand::Rng::with_seed(7);
    let mut fills = warm_up::<S>(keys, &mut random);
    let before = (memory::resident(), heap.map(|heap| heap()));
    let loads_before = loads();
    let store = S::with_room(room(keys));
    let Some(took) = fill(&store, keys) else {
        return Told::GaveUp(format!("not full after {} s", PATIENCE.as_secs()));
    };
    fills.push(took);
    let after = (memory::resident(), heap.map(|heap| heap()));
    let batches: Vec<f64> = (0..BATCHES).map(|_| hits(&store, keys, HITS, &mut random)).skip(1).collect();
    let loads = loads() - loads_before;
    assert_eq!(loads, keys as u64, "{}: each of {keys} keys is loaded once, and stays", S::NAME);
    // The process ends with it.
    std::mem::forget(store);
    let more = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    Told::Grown(Grown {
        fill: Spread::of(fills).median,
        hit: Spread::of(batches).median,
        resident: more(before.0, after.0),
        heap: more(before.1, after.1),
    })
}

/// Stores that are dropped again, since the first finds code and memory that were never used: what filling them took,
/// where they are of the size that is measured.
fn warm_up<S: Store>(keys: usize, random: &mut fastrand::Rng) -> Vec<f64> {
    let few = keys.min(FEW);
    let fills = (0..(FILLS / keys).max(1)).filter_map(|_| {
        let store = S::with_room(room(few));
        let took = fill(&store, few);
        hits(&store, few, FEW, random);
        took
    });
    let mut fills: Vec<f64> = fills.collect();
    fills.remove(0);
    if few < keys {
        fills.clear();
    }
    fills
}

/// Nanoseconds for each key; `None` if it takes too long.
fn fill(store: &impl Store, keys: usize) -> Option<f64> {
    let start = Instant::now();
    for first in (0..keys).step_by(CHUNK) {
        let chunk = first..(first + CHUNK).min(keys);
        store.fill(chunk.map(|number| key(number as u64)));
        if start.elapsed() > PATIENCE {
            return None;
        }
    }
    Some(start.elapsed().as_nanos() as f64 / keys as f64)
}

/// Nanoseconds for each of so many hits of keys at random.
fn hits(store: &impl Store, keys: usize, hits: usize, random: &mut fastrand::Rng) -> f64 {
    let start = Instant::now();
    store.hit((0..hits).map(|_| key(random.u64(..keys as u64))));
    start.elapsed().as_nanos() as f64 / hits as f64
}
