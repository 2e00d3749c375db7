use singleflight_core::single_flight;

#[single_flight(key = "user:<T>:<id>", ttl = 30)]
async fn find<T: Default>(id: u64) -> T {
    let _ = id;
    T::default()
}

fn main() {}
