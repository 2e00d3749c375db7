use singleflight_core::single_flight;

#[async_trait::async_trait(?Send)]
trait Find {
    async fn find(&self, id: u64) -> Option<u64>;
}

#[async_trait::async_trait(?Send)]
impl Find for u64 {
    #[single_flight(key = "user:<id>", ttl = 30, spawn)]
    async fn find(&self, id: u64) -> Option<u64> {
        Some(id + self)
    }
}

fn main() {}
