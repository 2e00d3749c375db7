use singleflight_core::{Policy, single_flight};

const HOT: Policy = Policy::new().early(1.0);

#[single_flight(key = "user:<id>", policy = HOT)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
