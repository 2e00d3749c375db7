//! Which engine annotated calls get: `SINGLEFLIGHT_BACKEND` decides, unless one is installed first.
//!
//! Prints how often the body of two calls ran. With the argument `install`, a memory engine is installed whatever the
//! environment says; with `from-env`, the environment is asked for the engine at start-up, and its mistakes are told.

use std::sync::atomic::{AtomicUsize, Ordering};

use singleflight_core::{SingleFlight, single_flight};

static LOADS: AtomicUsize = AtomicUsize::new(0);

#[single_flight(key = "answer", ttl = 60)]
async fn answer() -> u32 {
    LOADS.fetch_add(1, Ordering::Relaxed);
    42
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("install") => SingleFlight::in_memory().install()?,
        Some("from-env") => SingleFlight::from_env()?.install()?,
        _ => {}
    }
    assert_eq!((answer().await, answer().await), (42, 42));
    println!("{}", LOADS.load(Ordering::Relaxed));
    Ok(())
}
