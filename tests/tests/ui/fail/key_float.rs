use singleflight_core::single_flight;

#[single_flight(key = "price:<price>", ttl = 30)]
async fn find(price: f64) -> Option<u64> {
    Some(price as u64)
}

fn main() {}
