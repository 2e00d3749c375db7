use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, spawn)]
async fn find(id: u64) -> Result<u64, Box<dyn std::error::Error>> {
    Ok(id)
}

fn main() {}
