use singleflight_core::single_flight;

const LEASE: f64 = 1.5;

#[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = LEASE)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
