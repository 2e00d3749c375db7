use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64) -> String {
    let _ = id;
    ""
}

fn main() {}
