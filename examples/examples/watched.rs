//! A program whose figures Prometheus can collect; the README quotes its `main`.

use std::error::Error;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use singleflight_core::single_flight;

#[single_flight(key = "answer", ttl = 30)]
async fn answer() -> u32 {
    42
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The recorder first, then the engine that reports to it. Histograms by these bounds, in seconds.
    let bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &bounds)?
        .with_http_listener(([127, 0, 0, 1], 9000))
        .install()?; // http://127.0.0.1:9000/metrics

    singleflight_redis::builder_from_env().await?.metrics().build().install()?;

    println!("{}; see http://127.0.0.1:9000/metrics, end with Ctrl-C", answer().await);
    tokio::signal::ctrl_c().await?;
    Ok(())
}
