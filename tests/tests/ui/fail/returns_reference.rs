use singleflight_core::single_flight;

#[single_flight(key = "user:<name>", ttl = 30)]
async fn find(name: &str) -> Option<&str> {
    Some(name)
}

fn main() {}
