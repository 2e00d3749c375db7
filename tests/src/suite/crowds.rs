//! What users have met under load, one function for each case: many calls a second, and many keys at once.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::{LockTtl, Policy};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::spawned;
use super::spawned_faults::Call;
use crate::harness::{Harness, LEASE, Process, all, pass, plain, settle, within};
use crate::source::{LoadError, Source};

/// Fresh for a second, gone after eight; a load that hangs is succeeded after twelve.
const BRIEF: Policy =
    plain().ttl(Duration::from_secs(8)).soft_ttl(Duration::from_secs(1)).max_hold(Duration::from_secs(12));

/// The loads in their callers, and in tasks of their own.
const CALLS: [Call; 2] = [|process, source| process.spawn(BRIEF, source), spawned::call];

/// Four processes, and 1 in the store.
async fn fleet(harness: &dyn Harness, call: Call) -> [Process; 4] {
    let processes = [(); 4].map(|()| spawned::process_with(harness, BRIEF));
    processes[0].invalidate().await;
    assert_eq!(call(&processes[0], &Source::quick()).await.unwrap().unwrap(), 1);
    processes
}

/// A thousand calls a second, by each process in turn, for so long.
async fn crowd(
    call: Call,
    processes: &[Process],
    source: &Arc<Source>,
    time: Duration,
) -> Vec<JoinHandle<Result<u64, LoadError>>> {
    let ends = Instant::now() + time;
    let mut callers = Vec::new();
    for process in processes.iter().cycle() {
        if Instant::now() >= ends {
            break;
        }
        callers.push(call(process, source));
        pass(Duration::from_millis(1)).await;
    }
    callers
}

/// Soft TTL 1 s, a refresh of 5 s, a thousand calls a second from four processes: one refresh at a time in the fleet, and
/// nobody waits but the one who refreshes; with tasks, nobody. *async-cache-dedupe #164, caffeine #175*.
pub async fn case_35_one_refresh_at_a_time_under_a_crowd(harness: &dyn Harness) {
    for (call, at_it) in CALLS.into_iter().zip([1, 0]) {
        let processes = fleet(harness, call).await;
        let source = Source::slow(Duration::from_secs(5));
        // Refreshed from 1 to 6 s, and again from 7 s on.
        let callers = crowd(call, &processes, &source, Duration::from_secs(10)).await;
        settle().await;
        assert_eq!(callers.iter().filter(|caller| !caller.is_finished()).count(), at_it);
        all(callers).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
        pass(Duration::from_secs(5)).await;
        harness.freed().await;
        assert_eq!((source.loads(), source.most()), (2, 1));
        let waits: u64 = processes.iter().map(|process| process.flights.statistics().total.waits).sum();
        assert_eq!(waits, 0, "a stale copy is there at once");
    }
}

/// The refresh hangs under the same crowd: past its hard TTL the copy is given to nobody, and one load succeeds.
pub async fn case_35_the_hard_ttl_holds_when_the_refresh_hangs(harness: &dyn Harness) {
    for call in CALLS {
        let processes = fleet(harness, call).await;
        let (hung, source) = (Source::gated(), Source::quick());
        source.set(2);
        let early = crowd(call, &processes, &hung, 7 * LEASE).await;
        pass(2 * LEASE).await;
        let late = crowd(call, &processes, &source, LEASE).await;
        assert!(late.iter().all(|caller| !caller.is_finished()), "the copy is gone, and the refresh alive");
        all(late).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 2));
        assert_eq!((hung.loads(), source.loads()), (1, 1), "one takeover in the fleet");
        hung.let_through(1);
        all(early).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
        settle().await;
        for process in &processes {
            assert_eq!(within(LEASE, call(process, &source)).await.unwrap().unwrap(), 2);
        }
        harness.freed().await;
    }
}

/// Ten thousand keys that are loaded at once, half of them inside the loads of the other half, by two processes: none
/// stands in another's way, and no fill is lost. *symfony #62328, #41130*.
pub async fn case_38_ten_thousand_keys_with_nested_loads(harness: &dyn Harness) {
    const PAGES: usize = 5_000;
    let policy = plain().lock_ttl(LockTtl::Fixed(Duration::from_secs(30)));
    let row = async move |process: &Process, n: usize, source: &Source| {
        let key = format!("row:{n}");
        process.flights.flight(&key).policy(policy).run_sharing(|| source.load()).await
    };
    let page = async move |process: &Process, n: usize, source: &Source| {
        let key = format!("page:{n}");
        process.flights.flight(&key).policy(policy).run_sharing(|| row(process, n, source)).await
    };
    let [a, b] = [(); 2].map(|()| Arc::new(harness.process()));
    let source = Source::gated();
    let mut callers: Vec<JoinHandle<Result<u64, LoadError>>> = Vec::new();
    for n in 0..PAGES {
        let (process, rows) = (a.clone(), source.clone());
        callers.push(tokio::spawn(async move { page(&process, n, &rows).await }));
        let (process, rows) = (b.clone(), source.clone());
        callers.push(tokio::spawn(async move { row(&process, n, &rows).await }));
    }
    for _ in 0..PAGES {
        source.began().await;
    }
    settle().await;
    assert_eq!((source.loads(), source.most()), (PAGES, PAGES), "all at once, and each once");
    source.let_through(PAGES);
    all(callers).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    let c = harness.process();
    for n in 0..PAGES {
        assert_eq!(row(&c, n, &source).await.unwrap() + page(&c, n, &source).await.unwrap(), 2);
    }
    let total = c.flights.statistics().total;
    assert_eq!((source.loads(), total.hits, total.fills), (PAGES, 2 * PAGES as u64, 0), "all were stored");
    assert_eq!((a.flights.in_progress(), b.flights.in_progress()), (0, 0));
    harness.freed().await;
}
