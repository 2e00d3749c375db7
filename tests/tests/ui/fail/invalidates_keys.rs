use singleflight_core::invalidates;

#[invalidates(keys = ["user:<id>", "users"])]
async fn save(id: u64) {
    let _ = id;
}

fn main() {}
