use singleflight_core::single_flight;

struct User {
    id: u64,
}

#[single_flight(key = "user:<user.idd>", ttl = 30)]
async fn find(user: User) -> Option<u64> {
    Some(user.id)
}

fn main() {}
