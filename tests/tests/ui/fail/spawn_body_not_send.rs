use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30, spawn)]
async fn find(id: u64) -> Option<u64> {
    let held = std::rc::Rc::new(id);
    std::future::ready(()).await;
    Some(*held)
}

fn main() {}
