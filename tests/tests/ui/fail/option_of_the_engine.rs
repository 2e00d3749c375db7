use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, capacity = 100_000)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
