use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, skip(trase))]
async fn find(id: u64, trace: &str) -> Option<u64> {
    let _ = trace;
    Some(id)
}

fn main() {}
