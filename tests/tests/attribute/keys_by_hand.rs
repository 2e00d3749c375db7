//! `key!`.

use singleflight_core::{Key, key};

use crate::Id;

#[test]
fn are_rendered_alike() {
    let (id, name, user) = (7_u64, "a:b", (1_u8, Id(2)));
    assert_eq!(key!("user:<id>:<name>/<user.1>"), "user:7:a:b/2");
    assert_eq!(key!("user:<name>:<id>"), "user:a%3Ab:7");
    assert_eq!(key!("t:<T>:<N>", type T = Vec<u8>, N = 1 + 2), "t:alloc%3A%3Avec%3A%3AVec<u8>:3");
    let key: Key = key!("user:<x.len()>", x = name);
    assert_eq!(key.as_str().len() + key.len(), 12);
}

#[test]
fn take_nothing_away_from_their_values() {
    let name = String::from("a");
    let first = key!("<name>");
    assert_eq!((first.as_ref(), name.as_str()), ("a", "a"));
}
