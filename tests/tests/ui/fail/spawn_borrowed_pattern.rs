use singleflight_core::single_flight;

#[single_flight(key = "user:<a>:<b>", ttl = 30, spawn)]
async fn find(&(a, b): &(u64, u64)) -> Option<u64> {
    Some(a + b)
}

fn main() {}
