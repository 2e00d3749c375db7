use singleflight_core::single_flight;

fn keep(value: &u64) -> bool {
    *value > 0
}

#[single_flight(key = "user:<id>", ttl = 30, cache_if = keep)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
