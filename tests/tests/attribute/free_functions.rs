//! Free functions.

use singleflight_core::single_flight;

use crate::{LoadError, is_send};

#[single_flight(key = "double:<id>", ttl = 30, lock_ttl_ms = 1500)]
async fn double(id: u64) -> Result<u64, LoadError> {
    Ok(id * 2)
}

#[single_flight(key = "nothing", ttl = 30)]
async fn nothing() {}

#[single_flight(key = "unit:<id>", ttl = 30)]
async fn unit(id: u8) -> () {
    let _ = id;
}

#[single_flight(key = "fails:<id>", ttl = 30)]
async fn fails(id: u8) -> Result<u8, LoadError> {
    if id == 0 {
        return Err(LoadError);
    }
    let id = std::convert::identity::<Result<u8, LoadError>>(Err(LoadError))?;
    Ok(id)
}

#[single_flight(key = "early:<id>", ttl = 30)]
async fn early(id: u8) -> Option<u8> {
    let half = |n: u8| n.is_multiple_of(2).then_some(n / 2);
    let more = async { half(id)?.checked_add(1) };
    if id > 100 {
        return None;
    }
    more.await
}

#[tokio::test]
async fn return_what_their_bodies_do() {
    assert_eq!(is_send(double(4)).await, Ok(8));
    is_send(nothing()).await;
    unit(1).await;
    assert_eq!(fails(0).await, Err(LoadError));
    assert_eq!(fails(1).await, Err(LoadError));
    assert_eq!(early(101).await, None);
    assert_eq!(early(4).await, Some(3));
}
