use singleflight_core::invalidates;

#[invalidates()]
async fn save(id: u64) {
    let _ = id;
}

fn main() {}
