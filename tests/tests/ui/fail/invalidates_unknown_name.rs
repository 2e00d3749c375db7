use singleflight_core::invalidates;

struct User {
    id: u64,
}

#[invalidates(key = "user:<id>")]
async fn save(user: User) -> u64 {
    user.id
}

fn main() {}
