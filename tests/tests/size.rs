//! What the attribute adds to a function's future.

use singleflight_core::single_flight;

/// The most that it may add, in bytes.
const ADDED: usize = 512;

async fn wait() {
    tokio::task::yield_now().await;
}

async fn plain(id: u64) -> Result<u64, String> {
    let buffer = std::hint::black_box([id; 1024]);
    wait().await;
    Ok(buffer.iter().sum())
}

#[single_flight(key = "sum:<id>", ttl = 30, lock_ttl_ms = 1500)]
async fn annotated(id: u64) -> Result<u64, String> {
    let buffer = std::hint::black_box([id; 1024]);
    wait().await;
    Ok(buffer.iter().sum())
}

#[single_flight(key = "sum:<id>", ttl = 30)]
async fn small(id: u64) -> u64 {
    wait().await;
    id
}

async fn small_plain(id: u64) -> u64 {
    wait().await;
    id
}

#[test]
fn a_large_body_grows_by_a_bounded_amount() {
    let (before, after) = (size_of_val(&plain(1)), size_of_val(&annotated(1)));
    assert!(before >= 8192 && after <= before + ADDED, "{before} became {after}");
}

#[test]
fn a_small_body_grows_by_a_bounded_amount() {
    let (before, after) = (size_of_val(&small_plain(1)), size_of_val(&small(1)));
    assert!(after <= before + ADDED, "{before} became {after}");
}

#[tokio::test]
async fn the_functions_work() {
    assert_eq!(annotated(1).await, plain(1).await);
    assert_eq!(small(1).await, small_plain(1).await);
}
