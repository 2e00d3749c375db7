//! What it costs to be watched: a hit and a load in memory, by an engine alone, by one that reports to a recorder of the
//! `metrics` crate, and by one whose spans a subscriber of the `tracing` crate keeps.
//!
//! ```sh
//! cargo run --release --example watching
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use metrics_exporter_prometheus::PrometheusBuilder;
use singleflight_core::{SingleFlight, single_flight};

const ROUNDS: usize = 301;
const CALLS: u64 = 500;

#[single_flight(key = "row:<id>", ttl = 60, flights = flights, skip(flights))]
async fn row(flights: &SingleFlight, id: u64) -> u64 {
    id
}

/// Nanoseconds a call, of calls whose value is there and of calls that load.
async fn measure(flights: &SingleFlight, round: u64) -> [f64; 2] {
    row(flights, u64::MAX).await;
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(row(flights, u64::MAX).await);
    }
    let hits = start.elapsed();
    let start = Instant::now();
    for n in 0..CALLS {
        black_box(row(flights, round * CALLS + n).await);
    }
    [hits, start.elapsed()].map(|took| took.as_secs_f64() * 1e9 / CALLS as f64)
}

/// The median, and the two numbers between which half of them lie.
fn quartiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    [2, 1, 3].map(|quarter| numbers[numbers.len() * quarter / 4])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let _figures = PrometheusBuilder::new().install_recorder()?;
    let (alone, metered) = (SingleFlight::in_memory(), SingleFlight::builder().metrics().build());
    let traced = SingleFlight::in_memory();

    let mut took = [const { Vec::new() }; 3];
    for round in 0..ROUNDS as u64 {
        took[0].push(measure(&alone, round).await);
        took[1].push(measure(&metered, round).await);
        let subscriber = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
        let watching = tracing::subscriber::set_default(subscriber);
        took[2].push(measure(&traced, round).await);
        drop(watching);
    }

    println!("| | hit, ns | ratio | load, ns | ratio |\n|---|---|---|---|---|");
    for (name, times) in ["alone", "with metrics", "with a subscriber of spans"].into_iter().zip(&took) {
        let cells = [0, 1].map(|what| {
            let [median, low, high] = quartiles(times.iter().map(|time| time[what]).collect());
            let ratios = times.iter().zip(&took[0]).map(|(time, alone)| time[what] / alone[what]);
            let [ratio, least, most] = quartiles(ratios.collect());
            format!("{median:.0} ({low:.0}–{high:.0}) | {ratio:.2} ({least:.2}–{most:.2})")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}
