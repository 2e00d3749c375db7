use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, negative_ttl = 5)]
async fn find(id: u64) -> Result<u64, String> {
    Ok(id)
}

fn main() {}
