use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64) -> Result<u64, String> {
    if id == 0 {
        return Err(5);
    }
    Ok(id)
}

fn main() {}
