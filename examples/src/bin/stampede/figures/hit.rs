//! A hit through the attribute beside a bare GET.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, ProtocolVersion, RedisError};
use singleflight_core::SingleFlight;
use singleflight_redis::RedisBackend;

use super::FiguresError;
use super::crowd::Crowd;
use super::rows::{NAMESPACE, Rows};
use super::sample::{Sample, ratios};

const ROUNDS: usize = 31;
const CALLERS: u32 = 32;
/// Calls of one caller alone in a round, and of each of several.
const ALONE: usize = 1000;
const EACH: usize = 300;
/// How long the hot key is asked for.
const LASTS: Duration = Duration::from_secs(3);

/// The three ways to read a row, and how they compare.
struct Ways {
    get: Vec<f64>,
    pair: Vec<f64>,
    attribute: Vec<f64>,
}

/// Rows of the table.
pub(crate) async fn measure(url: &str) -> Result<Vec<[String; 4]>, FiguresError> {
    let rows = rows(url).await?;
    let bare = bare(url).await?;
    for id in 0..CALLERS {
        rows.find(id).await;
        rows.find_soft(id).await;
    }
    let mut table = Vec::new();
    let alone = compare(&rows, &bare, 1, false).await;
    tell(&mut table, "hit, 1 caller, p50", &alone, "≤ 1.2");
    let many = compare(&rows, &bare, CALLERS, false).await;
    tell(&mut table, "hit, 32 callers of 32 keys, time per call", &many, "≤ 1.2");
    let one = compare(&rows, &bare, CALLERS, true).await;
    tell(&mut table, "hit, 32 callers of one key, time per call", &one, "≤ 1.2");
    table.push(hot(&rows, "one hot key, 32 callers", false).await);
    table.push(hot(&rows, "one hot key, 32 callers, stale every 50 ms", true).await);
    Ok(table)
}

fn tell(table: &mut Vec<[String; 4]>, what: &str, ways: &Ways, bar: &str) {
    let Ways { get, pair, attribute } = ways;
    let sample = |numbers: &Vec<f64>| Sample::new(numbers.clone());
    let row = |what: String, numbers: &Vec<f64>, bar: &str| {
        [what, format!("{:.1} µs", sample(numbers)), format!("{:.2}", ratios(get, numbers)), bar.to_owned()]
    };
    table.push([
        format!("{what}: bare `GET`"),
        format!("{:.1} µs", sample(get)),
        "1".to_owned(),
        String::new(),
    ]);
    table.push(row(format!("{what}: `PTTL` and `GET` by hand"), pair, ""));
    table.push(row(format!("{what}: the attribute"), attribute, bar));
}

/// Each way in turn, many times over, so that whatever else the machine does concerns them all.
async fn compare(rows: &Rows, bare: &MultiplexedConnection, callers: u32, one_key: bool) -> Ways {
    let calls = if callers == 1 { ALONE } else { EACH };
    let go_on = move |done| done < calls;
    let id = move |number| if one_key { 0 } else { number };
    let cost = |crowd: Crowd| {
        if callers == 1 { Sample::micros(&crowd.calls).median() } else { crowd.apart() }
    };
    let mut ways = Ways { get: Vec::new(), pair: Vec::new(), attribute: Vec::new() };
    for _ in 0..ROUNDS {
        let connection = bare.clone();
        let get = move |number| get(connection.clone(), id(number));
        ways.get.push(cost(Crowd::run(callers, go_on, get).await));
        let rows = rows.clone();
        let find = move |number| {
            let rows = rows.clone();
            async move { assert!(rows.find(id(number)).await.is_some()) }
        };
        ways.attribute.push(cost(Crowd::run(callers, go_on, find).await));
        let connection = bare.clone();
        let pair = move |number| pair(connection.clone(), id(number));
        ways.pair.push(cost(Crowd::run(callers, go_on, pair).await));
    }
    ways
}

/// Callers of one key, whose copy stays fresh or is stale again and again.
async fn hot(rows: &Rows, what: &str, soft: bool) -> [String; 4] {
    let (before, begun) = (rows.made(), Instant::now());
    let ours = rows.clone();
    let find = move |_| {
        let rows = ours.clone();
        async move {
            let found = if soft { rows.find_soft(0).await } else { rows.find(0).await };
            assert!(found.is_some());
        }
    };
    let crowd = Crowd::run(CALLERS, move |_| begun.elapsed() < LASTS, find).await;
    let times = Sample::micros(&crowd.calls);
    [
        what.to_owned(),
        format!("{:.0} thousand calls/s", crowd.per_second() / 1e3),
        format!("p50 {:.0} µs, p99 {:.0} µs", times.median(), times.quantile(0.99)),
        format!("{} loads in {} s", rows.made() - before, LASTS.as_secs()),
    ]
}

async fn get(mut connection: MultiplexedConnection, id: u32) {
    let got: Result<Vec<u8>, RedisError> = redis::cmd("GET").arg(name(id)).query_async(&mut connection).await;
    assert!(got.is_ok_and(|record| !record.is_empty()), "the row is stored");
}

async fn pair(mut connection: MultiplexedConnection, id: u32) {
    let name = name(id);
    let mut pair = redis::pipe();
    pair.cmd("PTTL").arg(&name).cmd("GET").arg(&name);
    let got: Result<(i64, Vec<u8>), RedisError> = pair.query_async(&mut connection).await;
    assert!(got.is_ok_and(|(left, _)| left > 0), "the row is stored");
}

/// The name of a row's record; PROTOCOL.md says how it is made.
fn name(id: u32) -> String {
    format!("sf:{{{NAMESPACE}:row:{id}}}v")
}

/// A connection like the library's.
async fn bare(url: &str) -> Result<MultiplexedConnection, RedisError> {
    let info = url.into_connection_info()?;
    let redis = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    let info = info.set_redis_settings(redis).set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_millis(250)));
    Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await
}

/// Rows on this server, with the settings that a service has.
pub(crate) async fn rows(url: &str) -> Result<Rows, FiguresError> {
    let backend = RedisBackend::builder(url).connect().await?;
    Ok(Rows::new(SingleFlight::builder().backend(Arc::new(backend)).namespace(NAMESPACE).build()))
}
