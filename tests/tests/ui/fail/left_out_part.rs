use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find((id, shard): (u64, u32)) -> Option<u64> {
    Some(id)
}

fn main() {}
