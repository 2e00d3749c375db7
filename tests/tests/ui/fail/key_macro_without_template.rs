use singleflight_core::key;

fn main() {
    let id = 7;
    let _ = key!(id);
    let _ = id;
}
