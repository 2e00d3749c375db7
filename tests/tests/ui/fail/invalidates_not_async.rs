use singleflight_core::invalidates;

#[invalidates(key = "user:<id>")]
fn save(id: u64) -> u64 {
    id
}

fn main() {}
