use singleflight_core::invalidates;

#[invalidates(key = "users:{team}")]
async fn save(team: u64) {
    let _ = team;
}

fn main() {}
