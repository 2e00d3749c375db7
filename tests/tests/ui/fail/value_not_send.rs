use singleflight_core::single_flight;

use std::rc::Rc;

#[single_flight(key = "user:<id>", ttl = 30, local)]
async fn find(id: u64) -> Rc<u64> {
    Rc::new(id)
}

fn main() {}
