use singleflight_core::key;

fn main() {
    let id = 7;
    let _ = key!("user:<id>" id);
    let _ = id;
}
