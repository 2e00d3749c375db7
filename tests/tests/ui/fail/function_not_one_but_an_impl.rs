use singleflight_core::single_flight;

struct Repo;

#[single_flight(key = "user:<id>", ttl = 30)]
impl Repo {
    async fn find(&self, id: u64) -> Option<u64> {
        Some(id)
    }
}

fn main() {}
