use singleflight_core::key;

fn find(user: u64) -> String {
    key!("user:{user}").into()
}

fn find_part(user: u64) -> String {
    key!("user:{part:?}:<user>", part = 1).into()
}

fn main() {}
