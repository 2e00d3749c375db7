use singleflight_core::single_flight;

#[single_flight(key = "user:<name>", ttl = 30)]
async fn find<'a>(name: &'a str) -> std::borrow::Cow<'a, str> {
    name.into()
}

fn main() {}
