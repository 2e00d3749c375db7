use singleflight_core::key;

fn find() -> String {
    let price = 0.5;
    key!("price:<price>").into()
}

fn main() {}
