use singleflight_core::invalidates;

#[invalidates(key = "user:<id>", ttl = 30)]
async fn save(id: u64) {
    let _ = id;
}

fn main() {}
