//! The cost of a hit by the size of the value: cloned, and shared.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::sync::Cache as Moka;
use serde::{Deserialize, Serialize};
use singleflight_core::{SingleFlight, single_flight};
use tokio::runtime::Builder;

use crate::load::Failure;
use crate::peers::CAPACITY;
use crate::report::Table;
use crate::rounds::{Contender, Measured, take_turns};

const ROUNDS: usize = 101;
/// Bytes.
const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1 << 20];
/// Keys, few enough that all values fit into memory many times.
const KEYS: usize = 16;
/// Bytes that a go clones about, and the most calls.
const CLONED: usize = 8 << 20;
const CALLS: usize = 1_000;

/// Values of one size.
#[derive(Debug, Serialize, Deserialize)]
pub struct Heavy {
    /// How many bytes.
    pub bytes: usize,
    /// Calls of a go.
    pub calls: usize,
    /// Nanoseconds of a hit, by contender; the first one clones, and looks nothing up.
    pub measured: Vec<Measured>,
}

/// Our methods, by type of value.
struct Ours(SingleFlight);

impl Ours {
    #[single_flight(key = "cloned:<key>", ttl = 300, lock_ttl_ms = 500, skip(bytes), flights = &self.0)]
    async fn cloned(&self, key: usize, bytes: usize) -> Result<Vec<u8>, Failure> {
        Ok(vec![1; bytes])
    }

    #[single_flight(key = "shared:<key>", ttl = 300, lock_ttl_ms = 500, skip(bytes), flights = &self.0)]
    async fn shared(&self, key: usize, bytes: usize) -> Result<Arc<[u8]>, Failure> {
        Ok(vec![1; bytes].into())
    }
}

/// Measures it.
pub(super) fn measure() -> Vec<Heavy> {
    SIZES
        .map(|bytes| {
            eprintln!("growth: values of {bytes} bytes");
            of_size(bytes)
        })
        .into()
}

fn of_size(bytes: usize) -> Heavy {
    let calls = (CLONED / bytes).clamp(KEYS, CALLS);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (ours, cloned, shared) = (Ours(SingleFlight::in_memory()), moka(), moka());
    let values = vec![vec![1_u8; bytes]; KEYS];
    let mut contenders = [
        contender("the clone of a `Vec<u8>` alone", calls, |key| values[key].clone()),
        Contender::new("`#[single_flight]`, `Vec<u8>`", || {
            runtime.block_on(async {
                let start = Instant::now();
                for call in 0..calls {
                    let answer = black_box(ours.cloned(black_box(call % KEYS), bytes).await);
                    assert!(answer.is_ok(), "no load fails");
                }
                each(start, calls)
            })
        }),
        contender("moka `get_with(format!(..))`, `Vec<u8>`", calls, |key| {
            cloned.get_with(format!("cloned:{key}"), || vec![1; bytes])
        }),
        Contender::new("`#[single_flight]`, `Arc<[u8]>`", || {
            runtime.block_on(async {
                let start = Instant::now();
                for call in 0..calls {
                    let answer = black_box(ours.shared(black_box(call % KEYS), bytes).await);
                    assert!(answer.is_ok(), "no load fails");
                }
                each(start, calls)
            })
        }),
        contender("moka `get_with(format!(..))`, `Arc<[u8]>`", calls, |key| {
            shared.get_with(format!("shared:{key}"), || Arc::<[u8]>::from(vec![1; bytes]))
        }),
    ];
    let measured = take_turns(&mut contenders, ROUNDS);
    Heavy { bytes, calls, measured }
}

fn moka<V: Clone + Send + Sync + 'static>() -> Moka<String, V> {
    Moka::builder().max_capacity(CAPACITY.into()).time_to_live(Duration::from_secs(300)).build()
}

/// One that is asked for a key's number. What it drops is a part of what it costs.
fn contender<'a, V>(name: &str, calls: usize, ask: impl Fn(usize) -> V + 'a) -> Contender<'a> {
    Contender::new(name, move || {
        let start = Instant::now();
        for call in 0..calls {
            black_box(ask(black_box(call % KEYS)));
        }
        each(start, calls)
    })
}

/// Nanoseconds for each of so many calls.
fn each(start: Instant, calls: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// One table of all.
pub(super) fn table(values: &[Heavy]) -> Table {
    let what = format!(
        "{KEYS} keys in turn, one thread, {ROUNDS} rounds of as many calls as clone {} MiB, {CALLS} at most; what is answered is dropped again, which is counted.",
        CLONED >> 20
    );
    let head = ["", "bytes", "ns, median (half are between)", "ratio to the clone alone"];
    let mut table = Table::new("A hit, by the size of the value", &what, head);
    for heavy in values {
        for one in &heavy.measured {
            table.rows.push(vec![
                one.name.clone(),
                heavy.bytes.to_string(),
                one.cost.show(0),
                one.ratio.show(2),
            ]);
        }
    }
    table
}
