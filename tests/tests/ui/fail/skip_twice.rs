use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, skip(page, page))]
async fn find(id: u64, page: u32) -> Option<u64> {
    Some(id)
}

fn main() {}
