use singleflight_core::invalidates;

#[invalidates(key = "user:<id>")]
mod users {}

fn main() {}
