//! Every option, and every form of its value.

use std::time::Duration;

use singleflight_core::{Policy, SingleFlight, single_flight};

const HOT: Policy = Policy::new().ttl(Duration::from_secs(60)).wait(Duration::from_secs(5)).early(1.0);
const BYTE: u8 = 60;
const SHORT: u16 = 60;
const WORD: u32 = 60;
const SIZE: usize = 60;
const EXACT: Duration = Duration::from_millis(1500);

#[derive(Debug)]
pub struct Failed(u8);

#[derive(Clone)]
pub struct NoSerde(pub u8);

fn copy(error: &Failed) -> Failed {
    Failed(error.0)
}

fn full(values: &Vec<u8>) -> bool {
    !values.is_empty()
}

#[single_flight(
    key = "all:<id>",
    policy = HOT,
    ttl = "5m",
    soft_ttl = BYTE,
    lock_ttl_ms = SHORT,
    losers = "default",
    default = Vec::new(),
    skip(flights),
    version = 2,
    errors = "share",
    share_error = copy,
    cache_if = full,
    flights = flights,
    name = "options.all",
    crate = singleflight_core,
)]
pub async fn all(id: u8, flights: &SingleFlight) -> Result<Vec<u8>, Failed> {
    if id == 0 { Err(Failed(id)) } else { Ok(vec![id]) }
}

#[single_flight(key = "negative:<id>", ttl = WORD, negative_ttl = "250ms", lock_ttl_ms = EXACT)]
pub async fn negative(id: u8) -> Result<Option<u8>, String> {
    Ok(Some(id))
}

#[single_flight(key = "option:<id>", ttl = SIZE, negative_ttl = EXACT, lock_ttl_ms = "auto", losers = "wait")]
pub async fn option(id: u8) -> Option<u8> {
    Some(id)
}

#[single_flight(key = "retry:<id>", ttl = "1d", errors = "retry", losers = "stale")]
pub async fn retry(id: u8) -> Result<u8, Failed> {
    Err(Failed(id))
}

#[single_flight(key = "fail:<id>", ttl = "1h", losers = "fail")]
pub async fn fail(id: u8) -> std::io::Result<u8> {
    Ok(id)
}

#[single_flight(key = "local:<id>", ttl = "30s", local)]
pub async fn local(id: u8) -> NoSerde {
    NoSerde(id)
}

#[single_flight(key = "spawn:<name>", ttl = 30, soft_ttl = 10, spawn)]
pub async fn spawn(name: &str) -> String {
    name.to_owned()
}

fn main() {}
