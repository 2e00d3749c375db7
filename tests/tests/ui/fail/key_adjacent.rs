use singleflight_core::single_flight;

#[single_flight(key = "<id><page>", ttl = 30)]
async fn find(id: u64, page: u32) -> Option<u64> {
    Some(id)
}

fn main() {}
