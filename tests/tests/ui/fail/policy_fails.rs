use singleflight_core::{OnTimeout, Policy, single_flight};
use std::time::Duration;

const HOT: Policy = Policy::new().ttl(Duration::from_secs(30)).on_timeout(OnTimeout::Fail);

#[single_flight(key = "user:<id>", policy = HOT)]
async fn find(id: u64) -> Vec<u64> {
    vec![id]
}

fn main() {}
