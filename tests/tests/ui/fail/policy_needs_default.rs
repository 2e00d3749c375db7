use singleflight_core::{OnTimeout, Policy, single_flight};
use std::time::Duration;

const HOT: Policy = Policy::new().ttl(Duration::from_secs(30)).on_timeout(OnTimeout::Default);

#[single_flight(key = "user:<id>", policy = HOT)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
