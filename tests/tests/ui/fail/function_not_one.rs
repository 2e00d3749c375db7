use singleflight_core::single_flight;

#[single_flight(key = "user:<id>", ttl = 30)]
struct Repo;

fn main() {}
