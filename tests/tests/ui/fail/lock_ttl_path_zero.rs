use singleflight_core::single_flight;

const LEASE: u64 = 0;

#[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = LEASE)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
