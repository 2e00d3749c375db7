use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30)]
trait Find {
    async fn find(&self, id: u64) -> Option<u64>;
}

fn main() {}
