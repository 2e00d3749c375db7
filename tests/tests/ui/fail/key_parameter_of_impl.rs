use singleflight_core::single_flight;

struct Repo<D>(D);

impl<D: Sync> Repo<D> {
    #[single_flight(key = "user:<D>:<e>", ttl = 30)]
    async fn find(&self, e: u64) -> Option<u64> {
        Some(e)
    }
}

fn main() {}
