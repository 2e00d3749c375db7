//! What a hit, a miss and a join cost in instructions and allocations, held to figures with 5 % of room. Times differ from
//! run to run; these do not.
//!
//! `scripts/counts` runs it. A figure that is better is to be written here, one that is worse to be explained.

#![expect(missing_docs, reason = "of what the macros make")]

use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use futures::future::{join as join_pair, join_all};
use gungraun::prelude::*;
use gungraun::{Callgrind, Dhat, DhatMetric, EventKind};
use serde::{Deserialize, Serialize};
use singleflight_core::{MemoryBackend, SingleFlight, single_flight};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

/// Calls in each of the loops.
const CALLS: u64 = 1000;
/// Callers of one key, one of which loads.
const HERD: u64 = 1000;

/// What a loop may cost: the figure and 5 % more, and a hundredth for each call, in which moka may do what it has put off.
const fn room(figure: u64) -> u64 {
    figure + figure / 20 + CALLS / 100
}

/// What is allocated further down the stack than DHAT looks is not counted: with the runtime's and a future's frames, more
/// than its usual two dozen.
const FRAMES: &str = "--num-callers=100";

/// At most so many thousand instructions, and so many allocations.
fn at_most(thousands: u64, allocations: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config
        .tool(Callgrind::default().hard_limits([(EventKind::Ir, room(thousands * 1000))]))
        .tool(Dhat::with_args([FRAMES]).hard_limits([(DhatMetric::TotalBlocks, room(allocations))]));
    config
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct User {
    name: String,
}

struct Users {
    flights: SingleFlight,
    gate: Notify,
}

impl Users {
    #[single_flight(key = "number:<id>", ttl = 300, lock_ttl_ms = 500, flights = &self.flights)]
    async fn number(&self, id: u64) -> Option<u64> {
        Some(id)
    }

    #[single_flight(key = "user:<id>", ttl = 300, lock_ttl_ms = 500, flights = &self.flights)]
    async fn user(&self, id: u64) -> Option<User> {
        Some(User { name: format!("user {id}") })
    }

    #[single_flight(key = "late:<id>", ttl = 300, lock_ttl_ms = 500, flights = &self.flights)]
    async fn late(&self, id: u64) -> Option<u64> {
        self.gate.notified().await;
        Some(id)
    }
}

/// A runtime and a repository whose engine has all that it makes at first use.
struct Warm {
    runtime: Runtime,
    users: Rc<Users>,
}

fn warm() -> Warm {
    warm_with(SingleFlight::in_memory())
}

fn warm_over_quick() -> Warm {
    let backend = MemoryBackend::builder().quick().build();
    warm_with(SingleFlight::builder().backend(Arc::new(backend)).build())
}

fn warm_with(flights: SingleFlight) -> Warm {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let users = Rc::new(Users { flights, gate: Notify::new() });
    runtime.block_on(async {
        for id in 0..CALLS {
            users.number(id).await;
            users.user(id).await;
        }
        // What moka has put off is not to be done in what is counted.
        for _ in 0..20 * CALLS {
            users.number(0).await;
        }
    });
    Warm { runtime, users }
}

fn hits(warm: Warm) -> Warm {
    warm.runtime.block_on(async {
        for id in 0..CALLS {
            black_box(warm.users.number(black_box(id)).await);
        }
    });
    warm
}

#[library_benchmark(config = at_most(HIT.0, HIT.1), setup = warm)]
#[bench::of_a_number()]
fn hit(warm: Warm) -> Warm {
    hits(warm)
}

#[library_benchmark(config = at_most(HIT_OF_TEXT.0, HIT_OF_TEXT.1), setup = warm)]
#[bench::of_a_string()]
fn hit_of_text(warm: Warm) -> Warm {
    warm.runtime.block_on(async {
        for id in 0..CALLS {
            black_box(warm.users.user(black_box(id)).await);
        }
    });
    warm
}

#[library_benchmark(config = at_most(HIT_OVER_QUICK.0, HIT_OVER_QUICK.1), setup = warm_over_quick)]
#[bench::of_a_number()]
fn hit_over_quick(warm: Warm) -> Warm {
    hits(warm)
}

fn misses(warm: Warm) -> Warm {
    warm.runtime.block_on(async {
        for id in CALLS..2 * CALLS {
            black_box(warm.users.number(black_box(id)).await);
        }
    });
    warm
}

#[library_benchmark(config = at_most(MISS.0, MISS.1), setup = warm)]
#[bench::of_a_number()]
fn miss(warm: Warm) -> Warm {
    misses(warm)
}

#[library_benchmark(config = at_most(MISS_OVER_QUICK.0, MISS_OVER_QUICK.1), setup = warm_over_quick)]
#[bench::of_a_number()]
fn miss_over_quick(warm: Warm) -> Warm {
    misses(warm)
}

#[library_benchmark(config = at_most(JOIN.0, JOIN.1), setup = warm)]
#[bench::of_a_herd()]
fn join(warm: Warm) -> Warm {
    let herd = join_all((0..HERD).map(|_| warm.users.late(1)));
    let answers = warm.runtime.block_on(async {
        let open = async {
            tokio::task::yield_now().await;
            warm.users.gate.notify_one();
        };
        join_pair(herd, open).await.0
    });
    black_box(answers);
    warm
}

/// Thousands of instructions and allocations, of all calls of a loop together.
const HIT: (u64, u64) = (1529, 0);
/// Its one allocation is the clone of the value's `String`.
const HIT_OF_TEXT: (u64, u64) = (1738, 1000);
const HIT_OVER_QUICK: (u64, u64) = (866, 0);
const MISS: (u64, u64) = (14_480, 19_040);
const MISS_OVER_QUICK: (u64, u64) = (11_810, 11_060);
/// Of these, one is the future of each caller.
const JOIN: (u64, u64) = (5625, 3060);

library_benchmark_group!(
    name = counts,
    benchmarks = [hit, hit_of_text, hit_over_quick, miss, miss_over_quick, join]
);

main!(library_benchmark_groups = counts);
