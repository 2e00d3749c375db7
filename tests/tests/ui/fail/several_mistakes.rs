use singleflight_core::single_flight;

#[single_flight(key = "user:<idd>:<id", ttl = 30, soft_ttl = 0, soft = 5, losers = "drop", losers = "wait")]
async fn find(id: u64, page: u32) -> Option<&'static str> {
    let _ = (id, page);
    None
}

// The function is there all the same: no further errors where it is called.
async fn _caller() -> Option<&'static str> {
    find(1, 2).await
}

fn main() {}
