use singleflight_core::single_flight;

#[derive(Clone, Debug)]
struct LoadError;

#[single_flight(key = "user:<id>", ttl = 30, losers = "fail")]
async fn find(id: u64) -> Result<u64, LoadError> {
    Ok(id)
}

fn main() {}
