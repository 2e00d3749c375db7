use singleflight_core::single_flight;

#[single_flight(key = "user:<E>:<id>", ttl = 30)]
async fn find<E>(id: u64) -> Result<u64, E> {
    Ok(id)
}

fn main() {}
