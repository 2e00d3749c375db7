//! What those see who watch a service: figures, traces, hot keys.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use singleflight_core::testing::Kit;
use singleflight_core::{SingleFlight, SingleFlightBuilder, single_flight};
use singleflight_tests::harness::{LEASE, pass, settle, soft};
use singleflight_tests::source::{LoadError, SITE, Source};

const MINUTE: Duration = Duration::from_secs(60);

/// A recorder for this thread, and what it was given.
fn recorder() -> (metrics::LocalRecorderGuard<'static>, Snapshotter) {
    let recorder: &'static DebuggingRecorder = Box::leak(Box::default());
    (metrics::set_default_local_recorder(recorder), recorder.snapshotter())
}

/// What was recorded, by name and labels.
fn recorded(snapshotter: &Snapshotter) -> BTreeMap<String, DebugValue> {
    let all = snapshotter.snapshot().into_vec().into_iter();
    all.map(|(key, _, _, value)| {
        let key = key.key();
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        (format!("{}{{{}}}", key.name(), labels.join(",")), value)
    })
    .collect()
}

async fn call(flights: &SingleFlight, key: &str, source: &Arc<Source>) -> Result<u64, LoadError> {
    flights.flight(key).site(&SITE).policy(soft()).run_sharing(|| source.load()).await
}

#[tokio::test(start_paused = true)]
async fn figures_go_to_the_recorder() {
    let (_guard, snapshotter) = recorder();
    let flights = SingleFlight::builder().metrics().jitter(false).build();
    let source = Source::quick();
    for _ in 0..4 {
        call(&flights, "a", &source).await.unwrap();
    }
    source.fail(true);
    assert!(call(&flights, "b", &source).await.is_err());
    pass(11 * LEASE).await;
    // A failed refresh leaves the copy, a second past its soft TTL.
    assert_eq!(call(&flights, "a", &source).await.unwrap(), 1);
    pass(2 * LEASE).await;
    let seen = recorded(&snapshotter);
    let counter = |name: &str, labels: &str| match &seen[&format!("{name}{{{labels}}}")] {
        DebugValue::Counter(n) => *n,
        other => panic!("{other:?}"),
    };
    let site = SITE.name();
    assert_eq!(counter("singleflight_calls_total", &format!("function={site},outcome=hit")), 3);
    assert_eq!(counter("singleflight_fills_total", &format!("function={site},outcome=value")), 1);
    assert_eq!(counter("singleflight_fills_total", &format!("function={site},outcome=error")), 2);
    assert_eq!(counter("singleflight_acquires_total", &format!("function={site},outcome=granted")), 3);
    let DebugValue::Histogram(ages) = &seen[&format!("singleflight_stale_age_seconds{{function={site}}}")]
    else {
        panic!("{seen:?}")
    };
    assert!(ages.iter().all(|age| (age.into_inner() - 1.0).abs() < 0.1) && ages.len() == 1, "{ages:?}");
    assert!(matches!(&seen["singleflight_link_up{}"], DebugValue::Gauge(up) if up.into_inner() == 1.0));
}

/// The table in the docs names what is recorded, and nothing else; and labels are bounded.
#[tokio::test(start_paused = true)]
async fn the_table_of_figures_is_complete() {
    let (_guard, snapshotter) = recorder();
    let backend = Arc::new(singleflight_core::testing::BytesBackend::new(singleflight_core::Clock::system()));
    let flights = SingleFlight::builder().backend(backend).near(10, MINUTE).metrics().jitter(false).build();
    let source = Source::quick();
    call(&flights, "a", &source).await.unwrap();
    pass(11 * LEASE).await;
    source.fail(true);
    call(&flights, "a", &source).await.unwrap();
    flights.report_metrics();
    let names: BTreeSet<String> =
        recorded(&snapshotter).keys().map(|key| key.split('{').next().unwrap().to_owned()).collect();
    let docs = include_str!("../../singleflight-core/src/metrics.rs");
    let documented: BTreeSet<String> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `singleflight_"))
        .map(|line| format!("singleflight_{}", line.split('`').next().unwrap()))
        .collect();
    assert_eq!(names, documented);
    for key in recorded(&snapshotter).keys() {
        for label in key.trim_end_matches('}').split_once('{').unwrap().1.split(',').filter(|l| !l.is_empty())
        {
            assert!(label.starts_with("function=") || label.starts_with("outcome="), "{key}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_task_that_reports_ends_with_the_engine() {
    let (_guard, _snapshotter) = recorder();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let flights = SingleFlight::builder().metrics().build();
    assert_eq!(tasks(), 1);
    drop(flights);
    settle().await;
    assert_eq!(tasks(), 0);
}

/// Everything traced in this thread, as text.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Text {
    fn traced() -> (tracing::subscriber::DefaultGuard, Self) {
        let text = Self::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_max_level(tracing::Level::DEBUG)
            .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
            .with_ansi(false)
            .without_time()
            .finish();
        (tracing::subscriber::set_default(subscriber), text)
    }

    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[single_flight(key = "row:<id>", ttl = 60, name = "rows.find", flights = flights, skip(ends, flights))]
async fn find(flights: &SingleFlight, id: u32, ends: &str) -> Result<u32, LoadError> {
    tracing::info!("select");
    match ends {
        "value" => Ok(id),
        "error" => Err(LoadError::NoRow),
        "panic" => std::panic::resume_unwind(Box::new("planned")),
        _ => std::future::pending().await,
    }
}

fn engine(set: impl FnOnce(SingleFlightBuilder) -> SingleFlightBuilder) -> SingleFlight {
    set(SingleFlight::builder()).build()
}

#[tokio::test(start_paused = true)]
async fn a_fill_is_a_span_that_says_how_it_ended() {
    let (_guard, text) = Text::traced();
    let flights = engine(|builder| builder);
    for (id, ends) in (0..).zip(["value", "error", "panic", "cancelled"]) {
        let flights = flights.clone();
        let call = tokio::spawn(async move { find(&flights, id, ends).await });
        settle().await;
        call.abort();
        let _ = call.await;
        let text = text.take();
        let span = |line: &&str| line.contains("flight{") && line.contains("function=\"rows.find\"");
        let body = text.lines().find(|line| line.contains("select")).unwrap();
        assert!(span(&body), "the body's own event lies in the span: {body}");
        let close = text.lines().filter(span).find(|line| line.contains(": close")).unwrap();
        assert!(close.contains(&format!("outcome=\"{ends}\"")), "{close}");
        assert!(!text.contains("row:"), "keys are told to nobody who did not ask: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_traced_where_that_is_asked_for() {
    let (_guard, text) = Text::traced();
    let flights = engine(|builder| builder.trace_keys(true));
    find(&flights, 7, "value").await.unwrap();
    assert!(text.take().contains("key=\"row:7\""));
    find(&flights, 7, "value").await.unwrap();
    assert_eq!(text.take(), "", "a hit traces nothing");
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_an_event() {
    let (_guard, text) = Text::traced();
    let flights = engine(|builder| builder);
    let (one, other) = (flights.clone(), flights.clone());
    let leader = tokio::spawn(async move { find(&one, 1, "cancelled").await });
    settle().await;
    let follower = tokio::spawn(async move { find(&other, 1, "value").await });
    settle().await;
    leader.abort();
    assert_eq!(follower.await.unwrap().unwrap(), 1);
    let traced = text.take();
    assert!(traced.lines().any(|line| line.contains("INFO") && line.contains("took over")), "{traced}");
}

#[tokio::test]
async fn an_outage_is_told_when_it_begins_and_when_it_ends() {
    let (_guard, text) = Text::traced();
    let kit = Kit::bytes();
    let flights = kit.flights();
    let told = |wanted: &[(&str, &str)]| {
        let text = text.take();
        let lines: Vec<_> =
            text.lines().filter(|line| !line.contains("DEBUG") && !line.contains("select")).collect();
        let lines: Vec<_> = lines.into_iter().filter(|line| !line.contains(": close")).collect();
        assert_eq!(lines.len(), wanted.len(), "{text}");
        for (line, (level, says)) in lines.iter().zip(wanted) {
            assert!(line.contains(level) && line.contains(says), "{line}");
        }
    };
    find(flights, 1, "value").await.unwrap();
    told(&[]);

    kit.backend().cut();
    for n in 0..3 {
        flights.invalidate(&format!("row:{n}")).await.unwrap_err();
        find(flights, 1, "value").await.unwrap();
    }
    let (sent, away) = ("sent before the backend is used again", "the backend is away");
    told(&[("WARN", sent), ("WARN", away)]);

    kit.backend().mend();
    kit.advance(Duration::from_secs(10));
    find(flights, 1, "value").await.unwrap();
    told(&[("INFO", "the backend is back")]);
}

/// Writes do that all the time.
#[tokio::test(start_paused = true)]
async fn an_invalidation_during_a_load_is_no_warning() {
    let (_guard, text) = Text::traced();
    let (flights, source) = (engine(|builder| builder), Source::gated());
    let (of_call, row) = (flights.clone(), source.clone());
    let load = tokio::spawn(async move { call(&of_call, "row", &row).await });
    source.began().await;
    flights.invalidate("row").await.unwrap();
    source.let_through(1);
    load.await.unwrap().unwrap();
    let text = text.take();
    assert!(text.lines().any(|line| line.contains("DEBUG") && line.contains("invalidated while")), "{text}");
    assert!(!text.contains("WARN"), "{text}");
    assert_eq!(flights.statistics().total.fenced, 1);
}

#[tokio::test(start_paused = true)]
async fn hot_keys_are_listed_where_that_is_asked_for() {
    let quiet = engine(|builder| builder);
    let flights = engine(|builder| builder.top_keys(2));
    for n in 0..20 {
        for flights in [&quiet, &flights] {
            find(flights, 1, "value").await.unwrap();
            flights.invalidate("row:1").await.unwrap();
            find(flights, 100 + n, "value").await.unwrap();
        }
    }
    assert!(quiet.statistics().top_keys.is_empty());
    let top = flights.statistics().top_keys;
    assert_eq!((top.len(), &*top[0].key), (2, "row:1"));
    assert!(top[0].at_least <= 20 && 20 <= top[0].fills, "{top:?}");
}
