use singleflight_core::single_flight;

const TTL: u64 = 0;

#[single_flight(key = "user:<id>", ttl = TTL)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
