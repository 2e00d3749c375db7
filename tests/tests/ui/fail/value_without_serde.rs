use singleflight_core::single_flight;

#[derive(Clone, Debug)]
struct LoadError;

#[derive(Clone)]
struct User {
    id: u64,
}

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64) -> Result<Option<User>, LoadError> {
    Ok(Some(User { id }))
}

fn main() {}
