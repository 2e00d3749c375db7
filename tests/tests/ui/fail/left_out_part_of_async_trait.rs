use singleflight_core::single_flight;

struct Repo;

#[async_trait::async_trait]
trait Find {
    async fn find(&self, id: u64, range: (u32, u32)) -> Option<u64>;
}

#[async_trait::async_trait]
impl Find for Repo {
    #[single_flight(key = "user:<id>", ttl = 30)]
    async fn find(&self, id: u64, (from, to): (u32, u32)) -> Option<u64> {
        Some(id + u64::from(to - from))
    }
}

fn main() {}
