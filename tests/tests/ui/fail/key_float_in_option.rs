use singleflight_core::single_flight;

#[single_flight(key = "price:<price>", ttl = 30)]
async fn find(price: Option<f32>) -> Option<u64> {
    price.map(|price| price as u64)
}

fn main() {}
