use singleflight_core::{Policy, single_flight};
use std::time::Duration;

const HOT: Policy = Policy::new().ttl(Duration::from_secs(30));

#[derive(Debug)]
struct DbError;

#[single_flight(key = "user:<id>", policy = HOT)]
async fn find(id: u64) -> Result<u64, DbError> {
    Ok(id)
}

fn main() {}
