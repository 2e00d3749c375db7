use singleflight_core::single_flight;

trait Db {
    type Out;
    fn get(&self, id: u64) -> Self::Out;
}

struct Repo<D>(D);

impl<D: Db> Repo<D> {
    #[single_flight(key = "user:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> D::Out {
        self.0.get(id)
    }
}

fn main() {}
