use singleflight_core::{Policy, single_flight};
use std::time::Duration;

const HOT: Policy = Policy::new().ttl(Duration::from_secs(30));

#[single_flight(key = "user:<id>", policy = HOT, default = None)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
