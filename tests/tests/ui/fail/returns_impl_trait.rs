use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64) -> impl Iterator<Item = u64> {
    std::iter::once(id)
}

fn main() {}
