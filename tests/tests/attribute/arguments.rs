//! Arguments of every shape.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;

use singleflight_core::single_flight;

use crate::{Id, is_send};

#[single_flight(key = "a:<name>:<part>:<bytes>:<text>", ttl = 30)]
async fn borrowed(name: &str, part: Option<&str>, bytes: &[u8], text: Cow<'_, str>) -> String {
    format!("{name} {part:?} {bytes:?} {text}")
}

#[single_flight(key = "b:<a>:<b>", ttl = 30)]
async fn named<'a, 'b>(a: &'a str, b: &'b String) -> usize
where
    'a: 'b,
{
    a.len() + b.len()
}

#[single_flight(key = "c:<n>:<id>", ttl = 30)]
async fn patterns(mut n: u64, Id(id): Id, _: &HashMap<u8, u8>, _ctx: String) -> u64 {
    n += id;
    n
}

#[single_flight(key = "d:<name.as_ref()>:<what>", ttl = 30)]
async fn anonymous(name: impl AsRef<str> + Send, what: impl Display + Send) -> String {
    format!("{} {what}", name.as_ref())
}

#[single_flight(key = "e:<r#type>:<match>", ttl = 30)]
async fn raw(r#type: u8, r#match: u8) -> u8 {
    r#type + r#match
}

#[single_flight(key = "f:<id>", ttl = 30, skip(conn, unused))]
async fn mutable(conn: &mut Vec<u64>, id: u64, unused: fn(&str) -> u8) -> u64 {
    conn.push(id);
    let _ = unused;
    id
}

#[single_flight(key = "g:<pair.0>:<pair.1.0>:<state:?>", ttl = 30)]
async fn parts(pair: (u8, Id), state: Option<Id>) -> u64 {
    u64::from(pair.0) + pair.1.0 + state.map_or(0, |id| id.0)
}

#[single_flight(key = "h:<text>", ttl = 30)]
async fn moved(text: String) -> String {
    let mut again = text;
    again.push('!');
    again
}

#[tokio::test]
async fn reach_the_body() {
    let borrowed = is_send(borrowed("a", None, b"b", Cow::Borrowed("c"))).await;
    assert_eq!(borrowed, "a None [98] c");
    assert_eq!(is_send(named("ab", &"c".to_owned())).await, 3);
    assert_eq!(is_send(patterns(1, Id(2), &HashMap::new(), String::new())).await, 3);
    assert_eq!(is_send(anonymous("a".to_owned(), Id(1))).await, "a 1");
    assert_eq!(raw(1, 2).await, 3);
    assert_eq!(is_send(mutable(&mut Vec::new(), 7, |_| 0)).await, 7);
    assert_eq!(parts((1, Id(2)), Some(Id(3))).await, 6);
    assert_eq!(moved("x".into()).await, "x!");
}

#[tokio::test]
async fn may_be_borrowed_in_a_spawned_task() {
    let task = tokio::spawn(async {
        let text = String::from("a");
        borrowed(&text, Some("b"), &[], Cow::Owned(text.clone())).await
    });
    assert_eq!(task.await.unwrap(), "a Some(\"b\") [] a");
}
