use singleflight_core::single_flight;

const SOFT: std::time::Duration = std::time::Duration::from_secs(60);

#[single_flight(key = "user:<id>", ttl = 30, soft_ttl = SOFT)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
