//! An engine with copies in front of a server; the README quotes it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use singleflight_core::SingleFlight;
use singleflight_redis::RedisBackend;

async fn by_hand() -> Result<SingleFlight, Box<dyn Error>> {
    let redis = RedisBackend::builder("redis://cache:6379").connect().await?;
    let builder = SingleFlight::builder().backend(Arc::new(redis)).namespace("shop");
    Ok(builder.near(10_000, Duration::from_secs(5)).build())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flights = if std::env::var_os("SINGLEFLIGHT_BACKEND").is_some() {
        let builder = singleflight_redis::builder_from_env().await?;
        builder.near(10_000, Duration::from_secs(5)).build()
    } else {
        by_hand().await?
    };
    flights.install()?;
    Ok(())
}
