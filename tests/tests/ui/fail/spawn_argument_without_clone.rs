use singleflight_core::single_flight;

struct Conn(u64);

#[single_flight(key = "user:<conn.0>", ttl = 30, spawn)]
async fn find(conn: &Conn) -> Option<u64> {
    Some(conn.0)
}

fn main() {}
