use singleflight_core::key;

fn main() {
    let id = 7;
    let _ = key!("user:<T>:<id>");
    let _ = id;
}
