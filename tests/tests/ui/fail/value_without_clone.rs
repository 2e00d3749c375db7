use singleflight_core::single_flight;

#[derive(serde::Serialize, serde::Deserialize)]
struct User {
    id: u64,
}

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64) -> Option<User> {
    Some(User { id })
}

fn main() {}
