use singleflight_core::single_flight;

struct Tag(u8);

#[single_flight(key = "tag:<tag:?>", ttl = 30)]
async fn find(tag: Tag) -> Option<u8> {
    Some(tag.0)
}

fn main() {}
