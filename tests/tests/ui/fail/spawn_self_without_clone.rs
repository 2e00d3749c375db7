use singleflight_core::single_flight;

struct Repo {
    base: u64,
}

impl Repo {
    #[single_flight(key = "user:<id>", ttl = 30, spawn)]
    async fn find(&self, id: u64) -> Option<u64> {
        Some(self.base + id)
    }
}

fn main() {}
