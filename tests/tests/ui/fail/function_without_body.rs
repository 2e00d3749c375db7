use singleflight_core::single_flight;

trait Find {
    #[single_flight(key = "user:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> Option<u64>;
}

fn main() {}
