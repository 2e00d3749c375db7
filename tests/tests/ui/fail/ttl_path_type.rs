use singleflight_core::single_flight;

const TTL: i32 = 30;

#[single_flight(key = "user:<id>", ttl = TTL)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
