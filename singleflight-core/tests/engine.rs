//! The engine through its public face, on the in-process backends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use singleflight_core::{FlightError, NoopBackend, SingleFlight, control};
use tokio::time::sleep;

async fn load(count: &AtomicUsize, took: u64) -> Result<u32, FlightError> {
    count.fetch_add(1, Ordering::SeqCst);
    sleep(Duration::from_millis(took)).await;
    Ok(7)
}

#[tokio::test(start_paused = true)]
async fn a_herd_becomes_one_load() {
    let flights = SingleFlight::in_memory();
    let count = Arc::new(AtomicUsize::new(0));
    let herd: Vec<_> = (0..200)
        .map(|_| {
            let (flights, count) = (flights.clone(), count.clone());
            tokio::spawn(async move { flights.flight("k").run(|| load(&count, 100)).await })
        })
        .collect();
    for call in herd {
        assert_eq!(call.await.unwrap().unwrap(), 7);
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(flights.in_progress(), 0);
    let total = flights.statistics().total;
    assert_eq!((total.fills, total.follows), (1, 199));
    assert_eq!(flights.flight("k").run(|| load(&count, 100)).await.unwrap(), 7);
    assert_eq!(flights.statistics().total.hits, 1);
}

#[tokio::test(start_paused = true)]
async fn noop_runs_every_body() {
    let flights = SingleFlight::on(NoopBackend);
    let count = AtomicUsize::new(0);
    let calls = (0..3).map(|_| flights.flight("k").run(|| load(&count, 10)));
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn bypass_and_refresh_do_what_they_say() {
    let flights = SingleFlight::in_memory();
    let count = AtomicUsize::new(0);
    let call = || flights.flight("k").run(|| load(&count, 10));
    control::bypass(call()).await.unwrap();
    assert_eq!(flights.statistics().total.fills, 0);
    call().await.unwrap();
    call().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let (_, outcomes) = control::outcome(control::refresh(call())).await;
    assert_eq!(outcomes, [control::CallOutcome::Filled]);
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn the_current_engine_is_the_one_in_scope_else_the_processs() {
    let (outer, inner) = (SingleFlight::in_memory(), SingleFlight::in_memory());
    let backend = |flights: &SingleFlight| Arc::as_ptr(flights.backend()).cast::<()>();
    let nested = inner.scope(async { backend(&SingleFlight::current()) });
    let (before, within, after) = outer
        .scope(async { (backend(&SingleFlight::current()), nested.await, backend(&SingleFlight::current())) })
        .await;
    assert_eq!((before, within, after), (backend(&outer), backend(&inner), backend(&outer)));
    let process = backend(&SingleFlight::current());
    assert!(process == backend(&SingleFlight::current()) && process != backend(&outer));
}

/// As a `main` that ends with it shows it.
#[test]
fn a_second_engine_is_refused_in_words() {
    // The first may be another test's.
    let _ = SingleFlight::in_memory().install();
    let error = SingleFlight::in_memory().install().unwrap_err();
    let shown = "InstallError(the process has an engine already: install one at start-up, before the first annotated call)";
    assert_eq!(format!("{error:?}"), shown);
}

/// Counts its clones.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Large {
    #[serde(skip)]
    clones: Arc<AtomicUsize>,
}

impl Clone for Large {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::SeqCst);
        Self { clones: self.clones.clone() }
    }
}

#[cfg(feature = "test-util")]
#[tokio::test]
async fn what_came_over_the_wire_for_one_caller_is_not_copied() {
    let clock = singleflight_core::Clock::system();
    let flights = SingleFlight::builder()
        .backend(Arc::new(singleflight_core::testing::BytesBackend::new(clock)))
        .namespace("test")
        .build();
    let call = || flights.flight("k").run(|| async { Ok::<_, FlightError>(Large::default()) });
    for of in ["the load", "a hit"] {
        assert_eq!(call().await.unwrap().clones.load(Ordering::SeqCst), 0, "{of}");
    }
    let total = flights.statistics().total;
    assert_eq!((total.fills, total.hits), (1, 1));

    // In this process the store has the value as well.
    let flights = SingleFlight::in_memory();
    let call = || flights.flight("k").run(|| async { Ok::<_, FlightError>(Large::default()) });
    let counts = [call().await, call().await].map(|large| large.unwrap().clones.load(Ordering::SeqCst));
    assert_eq!(counts, [2, 2], "one for each, of one value");
}
