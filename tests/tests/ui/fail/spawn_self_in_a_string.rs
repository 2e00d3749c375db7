use singleflight_core::single_flight;

#[derive(Clone, Debug)]
struct Repo;

impl Repo {
    #[single_flight(key = "user:<id>", ttl = 30, spawn)]
    async fn find(&self, id: u64) -> Option<String> {
        Some(format!("{self:?} {id}"))
    }
}

fn main() {}
