use singleflight_core::single_flight;

#[single_flight(key = "tags:<tags>", ttl = 30)]
async fn find(tags: Vec<String>) -> Option<usize> {
    Some(tags.len())
}

fn main() {}
