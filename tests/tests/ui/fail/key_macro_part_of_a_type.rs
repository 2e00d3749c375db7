use singleflight_core::key;

fn main() {
    let id = 7;
    let _ = key!("user:<T.name>:<id>", type T = u8);
    let _ = id;
}
