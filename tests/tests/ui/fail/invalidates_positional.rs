use singleflight_core::invalidates;

#[invalidates("users:<id>")]
async fn save(id: u64) {
    let _ = id;
}

fn main() {}
