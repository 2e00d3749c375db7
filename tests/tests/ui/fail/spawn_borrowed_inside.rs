use singleflight_core::single_flight;

#[single_flight(key = "user:<name>", ttl = 30, spawn)]
async fn find(name: Option<&str>) -> Option<usize> {
    name.map(str::len)
}

fn main() {}
