use singleflight_core::key;

fn main() {
    let id = 7;
    let _ = key!("user:<id>", page = 1);
    let _ = id;
}
