use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, weight = 100)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
