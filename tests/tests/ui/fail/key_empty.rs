use singleflight_core::single_flight;

#[single_flight(key = "", ttl = 30)]
async fn find() -> Option<u64> {
    None
}

fn main() {}
