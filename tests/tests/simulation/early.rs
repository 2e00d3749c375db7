//! Early refresh: how many callers load per expiry, with the lease and without.
//!
//! `docs/early-refresh.md` holds the table; this checks that it is the one that is measured.

use std::fmt::Write as _;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use fastrand::Rng;
use singleflight_core::{Clock, FlightError, LeaseBackend, LockTtl, MemoryBackend, Policy, SingleFlight};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a load takes.
const LOAD: Duration = Duration::from_millis(100);
/// How long a value is fresh.
const FRESH: Duration = Duration::from_secs(2);

/// Loads that overlap belong to one expiry.
#[derive(Debug, Default)]
struct Tally {
    loads: AtomicU32,
    expiries: AtomicU32,
    running: AtomicU32,
}

impl Tally {
    fn begin(&self) {
        self.loads.fetch_add(1, Ordering::Relaxed);
        if self.running.fetch_add(1, Ordering::Relaxed) == 0 {
            self.expiries.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn per_expiry(&self) -> f64 {
        f64::from(self.loads.load(Ordering::Relaxed)) / f64::from(self.expiries.load(Ordering::Relaxed))
    }
}

/// The formula alone: each caller decides for itself until the first one's value is there.
fn without_lease(rate: f64) -> f64 {
    let rng = &mut Rng::with_seed(1);
    let (load, expiries) = (LOAD.as_secs_f64(), 2000);
    let mut loads = 0;
    for _ in 0..expiries {
        // Nobody refreshes with more than twenty load times left.
        let (mut left, mut first) = (20.0 * load, None);
        loop {
            left += (1.0 - rng.f64()).ln() / rate;
            if first.is_some_and(|first: f64| left < first - load) {
                break;
            }
            if -load * (1.0 - rng.f64()).ln() >= left {
                loads += 1;
                first.get_or_insert(left);
            }
        }
    }
    f64::from(loads) / f64::from(expiries)
}

/// Two engines on one store, called in turn.
async fn with_lease(rate: f64) -> f64 {
    let clock = Clock::system().seeded(2);
    let store: Arc<dyn LeaseBackend> = Arc::new(MemoryBackend::builder().clock(clock.clone()).build());
    let engine = || SingleFlight::builder().backend(store.clone()).clock(clock.clone()).build();
    let engines = Arc::new([engine(), engine()]);
    let policy = Policy::new()
        .ttl(2 * FRESH)
        .soft_ttl(FRESH)
        .jitter(0.0)
        .lock_ttl(LockTtl::Fixed(Duration::from_secs(1)))
        .early(1.0);
    let tally = Arc::new(Tally::default());
    let (start, mut at, rng) = (Instant::now(), Duration::ZERO, &mut Rng::with_seed(3));
    for n in 0_usize.. {
        if at > 20 * FRESH {
            break;
        }
        at += Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / rate);
        sleep_until(start + at).await;
        let (engines, tally) = (engines.clone(), tally.clone());
        let mut call = Box::pin(async move {
            let body = || async {
                tally.begin();
                sleep(LOAD).await;
                tally.running.fetch_sub(1, Ordering::Relaxed);
                Ok::<_, FlightError>(n)
            };
            engines[n % 2].flight("hot").policy(policy).run(body).await
        });
        // Nearly all are answered at once.
        if call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            tokio::spawn(call);
        }
    }
    sleep(2 * LOAD).await;
    tally.per_expiry()
}

#[test]
fn simulation_early_refresh() {
    let rows = Mutex::new(String::from(
        "| calls per second | calls per load | loads per expiry without the lease | theory | with the lease |\n\
         |---:|---:|---:|---:|---:|\n",
    ));
    for rate in [10_u32, 100, 1000, 10_000] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime without threads and sockets");
        let without = without_lease(rate.into());
        let with = runtime.block_on(with_lease(rate.into()));
        let mut rows = rows.lock().expect("no panic under this lock");
        let per_load = rate / 10;
        writeln!(rows, "| {rate} | {per_load} | {without:.2} | {:.2} | {with:.2} |", std::f64::consts::E)
            .expect("strings can be written to");
        assert!(with < 1.1, "{with} loads per expiry with the lease at {rate} calls per second");
        // The theory is for many calls per load.
        assert!(without < 3.0 && (rate < 100 || without > 2.4), "{without} without at {rate}");
    }
    let table = rows.into_inner().expect("no panic under this lock");
    println!("{table}");
    let documented = include_str!("../../../docs/early-refresh.md");
    assert!(documented.contains(&table), "docs/early-refresh.md has another table than\n{table}");
}
