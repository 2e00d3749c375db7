use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, skip(log), spawn)]
async fn find(log: &mut Vec<u64>, id: u64) -> Option<u64> {
    log.push(id);
    Some(id)
}

fn main() {}
