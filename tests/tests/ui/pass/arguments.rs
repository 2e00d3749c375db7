//! Arguments: borrowed, anonymous, taken apart, raw, skipped.

use std::borrow::Cow;
use std::fmt::Display;

use singleflight_core::single_flight;

pub struct Id(pub u64);

pub struct Pool;

#[single_flight(key = "a:<name>:<part>:<raw>:<text>", ttl = 30)]
pub async fn borrowed(name: &str, part: Option<&str>, raw: &[u8], text: Cow<'_, str>) -> usize {
    name.len() + part.map_or(0, str::len) + raw.len() + text.len()
}

#[single_flight(key = "b:<n>:<id>", ttl = 30)]
pub async fn patterns(mut n: u64, Id(id): Id, _: &Pool, _ctx: &Pool) -> u64 {
    n += id;
    n
}

#[single_flight(key = "c:<name.as_ref()>:<what>", ttl = 30)]
pub async fn anonymous(name: impl AsRef<str>, what: impl Display) -> String {
    format!("{} {what}", name.as_ref())
}

#[single_flight(key = "d:<r#type>:<match>", ttl = 30)]
pub async fn raw(r#type: u8, r#match: u8) -> u8 {
    r#type + r#match
}

#[single_flight(key = "e:<pair.0>:<pair.1.0>:<state:?>", ttl = 30)]
pub async fn parts(pair: (u8, Id), state: Option<bool>) -> bool {
    pair.1.0 > 0 && state.is_some()
}

#[single_flight(key = "f:<id>", ttl = 30, skip(pool))]
pub async fn skipped(pool: &mut Vec<Pool>, id: u64) -> u64 {
    pool.push(Pool);
    id
}

/// Braces are text, as in Redis: unless they hold the name of an argument.
#[single_flight(key = "{tenants}:{<id>}:{0}", ttl = 30)]
pub async fn braces(id: u64) -> u64 {
    id
}

fn main() {}
