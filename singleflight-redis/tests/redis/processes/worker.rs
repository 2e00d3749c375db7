//! A process of the fleet. Each line of its standard input is a number and a command, and is answered by a line with
//! that number:
//!
//! | command | answer |
//! |---|---|
//! | `call KEY OPTIONS` | `got VALUE`, `failed MESSAGE`, `panicked` or `dropped` |
//! | `drop NUMBER` | `ok`; drops the call of that number |
//! | `invalidate KEY` | `ok` or `failed MESSAGE` |
//! | `state` | flights in progress, channels subscribed to, and whether the link is up |
//! | `near` | how many calls were answered with a near copy |
//! | `hears` | whether it is told of changes |
//! | `clock` | seconds since 1970, as this process sees them |
//!
//! Options are `lease=`, `ttl=`, `soft=`, `wait=` and `cooldown=`, in milliseconds.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singleflight_core::{FlightError, LeaseBackend, LockTtl, Policy, SingleFlight, Site};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use crate::rig::{MINUTE, PATIENCE, connect_to, hasty};

pub(crate) const SERVER: &str = "SINGLEFLIGHT_TEST_SERVER";
pub(crate) const ORIGIN: &str = "SINGLEFLIGHT_TEST_ORIGIN";
/// Set for time-outs as users have them.
pub(crate) const HASTY: &str = "SINGLEFLIGHT_TEST_HASTY";
/// Set for near copies.
pub(crate) const NEAR: &str = "SINGLEFLIGHT_TEST_NEAR";

static SITE: Site = Site::new("fleet::load");

#[derive(Clone, Debug)]
enum Failure {
    NoRow,
    Flight(FlightError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow => f.write_str("no such row"),
            Self::Flight(error) => write!(f, "{error}"),
        }
    }
}

impl From<FlightError> for Failure {
    fn from(error: FlightError) -> Self {
        Self::Flight(error)
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<u32, Failure>> + Send>>;

/// One call.
fn call(flights: SingleFlight, origin: u16, key: String, options: String) -> Answer {
    Box::pin(async move {
        let load = || load(flights.clone(), origin, key.clone());
        flights.flight(&key).site(&SITE).policy(policy(&options)).run_sharing(load).await
    })
}

fn policy(options: &str) -> Policy {
    let mut policy = Policy::new().ttl(MINUTE).lock_ttl(LockTtl::Fixed(PATIENCE));
    for option in options.split_whitespace() {
        let (name, time) = option.split_once('=').unwrap();
        let time = Duration::from_millis(time.parse().unwrap());
        policy = match name {
            "lease" => policy.lock_ttl(LockTtl::Fixed(time)),
            "ttl" => policy.ttl(time),
            "soft" => policy.soft_ttl(time),
            "wait" => policy.wait(time),
            "cooldown" => policy.error_cooldown(time),
            other => panic!("no such option: {other}"),
        };
    }
    policy
}

/// One load, as the origin says.
async fn load(flights: SingleFlight, origin: u16, key: String) -> Result<u32, Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", origin)).await.unwrap();
    stream.write_all(format!("{} {key}\n", std::process::id()).as_bytes()).await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    match line.trim().split_once(' ') {
        Some(("value", value)) => Ok(value.parse().unwrap()),
        Some(("call", rest)) => {
            let (key, options) = rest.split_once(' ').unwrap_or((rest, ""));
            Ok(call(flights, origin, key.to_owned(), options.to_owned()).await? + 1)
        }
        _ if line == "panic\n" => panic!("the load was told to"),
        _ => Err(Failure::NoRow),
    }
}

fn say(number: u32, what: impl fmt::Display) {
    println!("\nworker: {number} {what}");
}

/// Does what it is told until its input ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a process that the other tests start"]
async fn worker() {
    let url = std::env::var(SERVER).expect("only the other tests start this");
    let origin: u16 = std::env::var(ORIGIN).unwrap().parse().unwrap();
    let backend = if std::env::var(HASTY).is_ok() { hasty(&url).await } else { connect_to(&url).await };
    let mut builder =
        SingleFlight::builder().backend(Arc::new(backend.clone())).namespace("test").jitter(false);
    if std::env::var(NEAR).is_ok() {
        builder = builder.near(1000, MINUTE);
    }
    let flights = builder.build();
    say(0, std::process::id());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut calls: HashMap<u32, AbortHandle> = HashMap::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let (number, command) = line.split_once(' ').unwrap();
        let number: u32 = number.parse().unwrap();
        let (word, rest) = command.split_once(' ').unwrap_or((command, ""));
        match word {
            "call" => {
                let (key, options) = rest.split_once(' ').unwrap_or((rest, ""));
                let call = tokio::spawn(call(flights.clone(), origin, key.to_owned(), options.to_owned()));
                calls.insert(number, call.abort_handle());
                tokio::spawn(async move {
                    match call.await {
                        Ok(Ok(value)) => say(number, format_args!("got {value}")),
                        Ok(Err(error)) => say(number, format_args!("failed {error}")),
                        Err(error) if error.is_panic() => say(number, "panicked"),
                        Err(_) => say(number, "dropped"),
                    }
                });
            }
            "drop" => {
                calls[&rest.parse().unwrap()].abort();
                say(number, "ok");
            }
            "invalidate" => match flights.invalidate(rest).await {
                Ok(_) => say(number, "ok"),
                Err(error) => say(number, format_args!("failed {error}")),
            },
            "state" => {
                let up = if backend.link().unwrap().is_up() { "up" } else { "down" };
                say(number, format_args!("{} {} {up}", flights.in_progress(), backend.channels()));
            }
            "near" => say(number, flights.statistics().total.near_hits),
            "hears" => say(number, flights.statistics().near.is_some_and(|near| near.hears)),
            "clock" => say(number, SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()),
            other => panic!("no such command: {other}"),
        }
    }
}
