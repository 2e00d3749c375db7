//! Every option, and every kind of result.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::{FlightError, OnTimeout, Policy, single_flight};

use crate::{LoadError, is_send};

const HOT: Policy = Policy::new().ttl(Duration::from_secs(30)).soft_ttl(Duration::from_secs(10));
const DEFAULTING: Policy = Policy::new().ttl(Duration::from_secs(30)).on_timeout(OnTimeout::Default);
const RETRYING: Policy = Policy::new().ttl(Duration::from_secs(30)).retry_errors(true);
const FAILING: Policy = Policy::new().ttl(Duration::from_secs(30)).on_timeout(OnTimeout::Fail);
const SECONDS: u32 = 30;

/// Neither `Clone` nor built from a `FlightError`, as `sqlx::Error`.
#[derive(Debug, PartialEq)]
struct Sqlx(u8);

#[derive(Debug, thiserror::Error)]
enum WithVariant {
    #[error("not found")]
    NotFound,
    #[error(transparent)]
    Flight(#[from] FlightError),
}

fn copy(error: &Sqlx) -> Sqlx {
    Sqlx(error.0)
}

fn positive(value: &u8) -> bool {
    *value > 0
}

#[derive(Clone)]
struct NoSerde(u8);

#[single_flight(key = "policy:<id>", policy = HOT)]
async fn policy(id: u8) -> u8 {
    id
}

#[single_flight(
    key = "all:<id>",
    policy = self::HOT,
    ttl = SECONDS,
    soft_ttl = "20s",
    lock_ttl_ms = 800,
    losers = "wait",
    version = 3,
    errors = "share",
    share_error = copy,
    cache_if = positive,
    name = "options.all",
    crate = ::singleflight_core,
    skip(ctx),
)]
async fn all(ctx: &str, id: u8) -> Result<u8, Sqlx> {
    if ctx.is_empty() { Err(Sqlx(1)) } else { Ok(id) }
}

#[single_flight(key = "default:<text>", ttl = 30, losers = "default", default = text)]
async fn default(text: String) -> Result<String, LoadError> {
    Ok(text + "!")
}

#[single_flight(key = "default_option:<id>", policy = DEFAULTING, default = None)]
async fn default_option(id: u8) -> Option<u8> {
    Some(id)
}

#[single_flight(key = "retry:<id>", ttl = 30, errors = "retry")]
async fn retry(id: u8) -> Result<u8, Sqlx> {
    Err(Sqlx(id))
}

#[single_flight(key = "retry_by_policy:<id>", policy = RETRYING)]
async fn retry_by_policy(id: u8) -> Result<u8, Sqlx> {
    Err(Sqlx(id))
}

#[single_flight(key = "fail:<id>", ttl = 30, losers = "fail")]
async fn fail(id: u8) -> Result<u8, WithVariant> {
    if id == 0 { Err(WithVariant::NotFound) } else { Ok(id) }
}

#[single_flight(key = "fail_by_policy:<id>", policy = FAILING)]
async fn fail_by_policy(id: u8) -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
    Ok(id)
}

#[single_flight(key = "local:<id>", ttl = 30, local)]
async fn local(id: u8) -> Option<NoSerde> {
    Some(NoSerde(id))
}

type Api<T> = Result<T, LoadError>;
type Maybe = Option<u8>;

#[single_flight(key = "alias:<id>", ttl = 30, negative_ttl = "500ms")]
async fn alias(id: u8) -> Api<Maybe> {
    Ok(Some(id))
}

#[single_flight(key = "anyhow:<id>", ttl = 30)]
async fn any(id: u8) -> anyhow::Result<u8> {
    anyhow::ensure!(id > 0, "zero");
    Ok(id)
}

#[single_flight(key = "io:<id>", ttl = 30)]
async fn io(id: u8) -> std::io::Result<Vec<u8>> {
    Ok(vec![id])
}

#[single_flight(key = "boxed:<id>", ttl = 30)]
async fn boxed(id: u8) -> Result<u8, Box<dyn std::error::Error>> {
    Ok(id)
}

#[single_flight(key = "never:<id>", ttl = 30)]
async fn never(id: u8) -> Result<u8, std::convert::Infallible> {
    Ok(id)
}

#[single_flight(key = "arc:<id>", ttl = 30)]
async fn arc_error(id: u8) -> Result<Box<str>, Arc<Sqlx>> {
    Err(Arc::new(Sqlx(id)))
}

#[tokio::test]
async fn of_every_kind_compile_and_answer() {
    assert_eq!(policy(1).await, 1);
    assert_eq!(all("c", 1).await, Ok(1));
    assert_eq!(all("", 2).await, Err(Sqlx(1)));
    assert_eq!(default("a".into()).await, Ok("a!".into()));
    assert_eq!(default_option(1).await, Some(1));
    assert_eq!(retry(1).await, Err(Sqlx(1)));
    assert_eq!(retry_by_policy(1).await, Err(Sqlx(1)));
    assert!(matches!(fail(0).await, Err(WithVariant::NotFound)));
    assert_eq!(is_send(fail_by_policy(1)).await.unwrap(), 1);
    assert_eq!(local(1).await.map(|value| value.0), Some(1));
    assert_eq!(alias(1).await, Ok(Some(1)));
    assert_eq!(is_send(any(0)).await.unwrap_err().to_string(), "zero");
    assert_eq!(io(1).await.unwrap(), [1]);
    assert_eq!(is_send(never(1)).await, Ok(1));
    assert!(arc_error(1).await.is_err());
}

/// Its error is not `Send`, but never lives across a point where the future waits.
#[tokio::test]
async fn the_future_is_send_if_the_body_is() {
    assert_eq!(is_send(boxed(1)).await.unwrap(), 1);
}

#[test]
fn a_variant_for_flight_errors_is_enough() {
    fn from<E: From<FlightError>>() {}
    from::<WithVariant>();
    assert!(!std::any::type_name_of_val(&WithVariant::Flight).is_empty());
}
