use singleflight_core::single_flight;

#[single_flight(key = "user:<T>:<id>", ttl = 30)]
async fn find<T>(id: T) -> Option<u64> {
    let _ = id;
    None
}

fn main() {}
