use singleflight_core::single_flight;

const HOT: u64 = 30;

#[single_flight(key = "user:<id>", policy = HOT)]
async fn find(id: u64) -> Option<u64> {
    Some(id)
}

fn main() {}
