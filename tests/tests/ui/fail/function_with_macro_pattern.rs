use singleflight_core::single_flight;

macro_rules! pair {
    ($a:ident, $b:ident) => {
        ($a, $b)
    };
}

#[single_flight(key = "user:<id>", ttl = 30)]
async fn find(id: u64, pair!(a, b): (u8, u8)) -> Option<u64> {
    Some(id + u64::from(a + b))
}

fn main() {}
