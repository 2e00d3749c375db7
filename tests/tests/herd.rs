//! A hundred thousand callers of one key. In a binary of its own, since it counts every byte on the heap.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use singleflight_core::testing::BytesBackend;
use singleflight_core::{Clock, FlightError, LeaseBackend, MemoryBackend, SingleFlight};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Semaphore};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The bytes on the heap.
fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// So many calls at once for `key`, each in a task of its own; the load ends when all have come. How many loads it took.
async fn herd(flights: &SingleFlight, key: &'static str, callers: usize) -> usize {
    let loads = Arc::new(AtomicUsize::new(0));
    let come = Arc::new(Semaphore::new(0));
    let mut calls = Vec::with_capacity(callers);
    for _ in 0..callers {
        let (flights, loads, come) = (flights.clone(), loads.clone(), come.clone());
        calls.push(tokio::spawn(async move {
            come.add_permits(1);
            let load = || async {
                loads.fetch_add(1, Ordering::SeqCst);
                let everyone = come.acquire_many(u32::try_from(callers).unwrap()).await.unwrap();
                everyone.forget();
                Ok::<u64, FlightError>(7)
            };
            // A lease that no machine is too slow for: it is renewed by the thread that all of them share.
            let ever = Duration::from_secs(600);
            flights.flight(key).ttl(ever).lock_ttl(ever).run(load).await
        }));
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), 7);
    }
    loads.load(Ordering::SeqCst)
}

/// The bytes in use once every task has been freed, which the runtime does a moment after it has ended.
async fn bytes_at_rest() -> usize {
    let mut last = usize::MAX;
    loop {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let now = in_use();
        if now == last {
            return now;
        }
        last = now;
    }
}

/// The heap is everyone's: one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

async fn one_load_and_nothing_left(backend: Arc<dyn LeaseBackend>) {
    const CALLERS: usize = 100_000;
    let _alone = ALONE.lock().await;
    let flights = SingleFlight::builder().backend(backend).build();
    // What grows once and stays: the runtime's queues, thread-locals, the statistics, the store's own tables.
    assert_eq!(herd(&flights, "warm", CALLERS).await, 1);
    flights.invalidate("warm").await.unwrap();
    let tasks = Handle::current().metrics().num_alive_tasks();
    let before = bytes_at_rest().await;
    for _ in 0..2 {
        assert_eq!(herd(&flights, "warm", CALLERS).await, 1, "one load");
        flights.invalidate("warm").await.unwrap();
    }
    assert_eq!(flights.in_progress(), 0);
    let left = bytes_at_rest().await.abs_diff(before);
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks, "no task is left");
    // A waker or a seat kept for each caller of one of them would be megabytes. The store frees an entry
    // when it sees fit.
    assert!(left < 64 * 1024, "{left} bytes are left");
}

mod memory {
    use super::*;

    #[tokio::test]
    async fn p23_a_herd_is_one_load_and_leaves_nothing() {
        one_load_and_nothing_left(Arc::new(MemoryBackend::new())).await;
    }
}

mod bytes {
    use super::*;

    #[tokio::test]
    async fn p23_a_herd_is_one_load_and_leaves_nothing() {
        one_load_and_nothing_left(Arc::new(BytesBackend::new(Clock::system()))).await;
    }
}
