use singleflight_core::single_flight;

struct Repo {
    tenant: u64,
}

impl Repo {
    #[single_flight(key = "{self.tenant}:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> Option<u64> {
        Some(self.tenant + id)
    }
}

fn main() {}
