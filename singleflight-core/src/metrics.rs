//! Figures for the recorder of the [`metrics`](https://docs.rs/metrics) crate.
//!
//! [`SingleFlightBuilder::metrics`](crate::SingleFlightBuilder::metrics) switches them on. Hits cost nothing more than
//! without: what the engine counts anyway is handed over once a second by a task that ends with the engine, or whenever
//! [`SingleFlight::report_metrics`](crate::SingleFlight::report_metrics) is called. Times are recorded as they are
//! measured.
//!
//! The labels are bounded: `function` is the label of an annotated function, never a key.
//!
//! Counters are the fields of [`Figures`]. Those of another name: of `calls_total`, `hit` leaves out the near hits that
//! [`Figures::hits`] has with it, `coalesced` is `follows`, `default` `defaults`, `refused` `refusals`, `failure_shared`
//! `failures_shared` and `cooldown` `cooldown_answers`; of `fills_total`, `value` is `fills` less `errors`;
//! `wait_timeouts_total` is `timeouts` and `fenced_publishes_total` `fenced`.
//!
//! | name | kind, unit | labels | says |
//! |---|---|---|---|
//! | `singleflight_calls_total` | counter | `function`, `outcome`: `hit`, `near_hit`, `stale`, `coalesced`, `default`, `refused`, `failure_shared`, `cooldown` | calls answered without a fill of their own |
//! | `singleflight_fills_total` | counter | `function`, `outcome`: `value`, `error`, `panic` | bodies that ended |
//! | `singleflight_fill_seconds` | histogram, seconds | `function`, `outcome`: `value`, `error` | how long bodies took |
//! | `singleflight_stale_age_seconds` | histogram, seconds | `function` | how far past their soft TTL stale answers were |
//! | `singleflight_acquires_total` | counter | `function`, `outcome`: `granted`, `held`, `failed` | leases asked for |
//! | `singleflight_waits_total` | counter | `function` | flights that waited for another process |
//! | `singleflight_wait_timeouts_total` | counter | `function` | wait budgets that ran out |
//! | `singleflight_takeovers_total` | counter | `function` | flights taken over from a leader that ended without a value, or that stopped waiting for another process |
//! | `singleflight_fenced_publishes_total` | counter | `function` | leases lost: publishes refused, and loads that went on past their lease or `max_hold` |
//! | `singleflight_duplicate_loads_total` | counter | `function` | loads whose publish was refused, or that ran without the lease |
//! | `singleflight_degraded_total` | counter | `function` | loads without the backend, because it could not be reached |
//! | `singleflight_renewals_total` | counter | `function` | renewals of leases |
//! | `singleflight_foreign_total` | counter | `function` | stored values found that are another function's |
//! | `singleflight_lease_ttl_seconds` | gauge, seconds | `function` | the lease TTL of the last load |
//! | `singleflight_in_progress` | gauge | | flights at present |
//! | `singleflight_link_up` | gauge, 0 or 1 | | whether the backend is used |
//! | `singleflight_near_copies` | gauge | | copies in front of the backend |
//! | `singleflight_near_listening` | gauge, 0 or 1 | | whether changes are heard |
//! | `singleflight_near_dropped_total` | counter | | copies dropped because their key changed |
//! | `singleflight_near_flushes_total` | counter | | how often all were dropped |

use std::sync::Weak;
use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use tokio::task::AbortHandle;

use crate::engine::Engine;
use crate::observe::{Event, Figures};

/// How often what is counted is handed over.
const EVERY: Duration = Duration::from_secs(1);

type OfFigures = fn(&Figures) -> u64;

/// What is counted for each function.
const COUNTERS: &[(&str, Option<&str>, OfFigures)] = &[
    ("singleflight_calls_total", Some("hit"), |figures| figures.hits - figures.near_hits),
    ("singleflight_calls_total", Some("near_hit"), |figures| figures.near_hits),
    ("singleflight_calls_total", Some("stale"), |figures| figures.stale),
    ("singleflight_calls_total", Some("coalesced"), |figures| figures.follows),
    ("singleflight_calls_total", Some("default"), |figures| figures.defaults),
    ("singleflight_calls_total", Some("refused"), |figures| figures.refusals),
    ("singleflight_calls_total", Some("failure_shared"), |figures| figures.failures_shared),
    ("singleflight_calls_total", Some("cooldown"), |figures| figures.cooldown_answers),
    ("singleflight_fills_total", Some("value"), |figures| figures.fills.saturating_sub(figures.errors)),
    ("singleflight_fills_total", Some("error"), |figures| figures.errors),
    ("singleflight_fills_total", Some("panic"), |figures| figures.panics),
    ("singleflight_acquires_total", Some("granted"), |figures| figures.acquires_granted),
    ("singleflight_acquires_total", Some("held"), |figures| figures.acquires_held),
    ("singleflight_acquires_total", Some("failed"), |figures| figures.acquires_failed),
    ("singleflight_waits_total", None, |figures| figures.waits),
    ("singleflight_wait_timeouts_total", None, |figures| figures.timeouts),
    ("singleflight_takeovers_total", None, |figures| figures.takeovers),
    ("singleflight_fenced_publishes_total", None, |figures| figures.fenced),
    ("singleflight_duplicate_loads_total", None, |figures| figures.duplicate_loads),
    ("singleflight_degraded_total", None, |figures| figures.degraded),
    ("singleflight_renewals_total", None, |figures| figures.renewals),
    ("singleflight_foreign_total", None, |figures| figures.foreign),
];

/// What is measured when it happens.
pub(crate) fn event(site: &'static str, event: &Event<'_>) {
    match event {
        Event::Filled { took, ok } => {
            let outcome = if *ok { "value" } else { "error" };
            histogram!("singleflight_fill_seconds", "function" => site, "outcome" => outcome)
                .record(took.as_secs_f64());
        }
        Event::Stale { age } => {
            histogram!("singleflight_stale_age_seconds", "function" => site).record(age.as_secs_f64());
        }
        _ => {}
    }
}

/// Hands over what has been counted.
pub(crate) fn report(engine: &Engine) {
    let statistics = engine.statistics();
    for (function, figures) in &statistics.functions {
        for (name, outcome, of) in COUNTERS {
            let counter = match outcome {
                Some(outcome) => counter!(*name, "function" => *function, "outcome" => *outcome),
                None => counter!(*name, "function" => *function),
            };
            counter.absolute(of(figures));
        }
        let lease = figures.lease_ttl.as_secs_f64();
        gauge!("singleflight_lease_ttl_seconds", "function" => *function).set(lease);
    }
    gauge!("singleflight_in_progress").set(float(engine.table.len() as u64));
    gauge!("singleflight_link_up").set(f64::from(u8::from(engine.link().is_up())));
    if let Some(near) = &statistics.near {
        gauge!("singleflight_near_copies").set(float(near.copies));
        gauge!("singleflight_near_listening").set(f64::from(u8::from(near.hears)));
        counter!("singleflight_near_dropped_total").absolute(near.dropped);
        counter!("singleflight_near_flushes_total").absolute(near.flushes);
    }
}

#[expect(clippy::cast_precision_loss, reason = "gauges are floats, and nobody counts that far")]
fn float(n: u64) -> f64 {
    n as f64
}

/// Tells the recorder what the names mean.
pub(crate) fn describe() {
    for (name, text) in [
        ("singleflight_calls_total", "Calls answered without a fill of their own"),
        ("singleflight_fills_total", "Bodies that ended"),
        ("singleflight_acquires_total", "Leases asked for"),
        ("singleflight_waits_total", "Flights that waited for another process"),
        ("singleflight_wait_timeouts_total", "Wait budgets that ran out"),
        ("singleflight_takeovers_total", "Loads taken over from a leader that ended without a value"),
        ("singleflight_fenced_publishes_total", "Publishes refused"),
        ("singleflight_duplicate_loads_total", "Loads whose publish was refused, or without the lease"),
        ("singleflight_degraded_total", "Loads without the backend, because it could not be reached"),
        ("singleflight_renewals_total", "Renewals of leases"),
        ("singleflight_foreign_total", "Stored values found that are another function's"),
        ("singleflight_near_dropped_total", "Copies dropped because their key changed"),
        ("singleflight_near_flushes_total", "How often all copies were dropped"),
    ] {
        describe_counter!(name, Unit::Count, text);
    }
    describe_histogram!("singleflight_fill_seconds", Unit::Seconds, "How long bodies took");
    let stale = "How far past their soft TTL stale answers were";
    describe_histogram!("singleflight_stale_age_seconds", Unit::Seconds, stale);
    let lease = "The lease TTL of the last load";
    describe_gauge!("singleflight_lease_ttl_seconds", Unit::Seconds, lease);
    describe_gauge!("singleflight_in_progress", Unit::Count, "Flights at present");
    describe_gauge!("singleflight_link_up", "Whether the backend is used");
    describe_gauge!("singleflight_near_copies", Unit::Count, "Copies in front of the backend");
    describe_gauge!("singleflight_near_listening", "Whether changes are heard");
}

/// The task that hands over what is counted, until this is dropped.
#[derive(Debug)]
pub(crate) struct Reporter(AbortHandle);

impl Reporter {
    /// `None` outside of a runtime.
    pub(crate) fn start(engine: Weak<Engine>) -> Option<Self> {
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let task = runtime.spawn(async move {
            while let Some(engine) = engine.upgrade() {
                report(&engine);
                let clock = engine.clock.clone();
                drop(engine);
                clock.sleep(EVERY).await;
            }
        });
        Some(Self(task.abort_handle()))
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.0.abort();
    }
}
