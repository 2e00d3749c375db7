//! `--figures`: what the library costs on Redis, measured on a server of its own and told as Markdown.
//!
//! | file | holds |
//! |---|---|
//! | `hit` | a hit beside a bare GET, and a hot key |
//! | `herd` | a hundred callers in four processes, by the fleet's scenes |
//! | `outage` | a server that goes away |
//! | `rows`, `crowd`, `sample` | the functions measured, who calls them, and the arithmetic |

mod crowd;
mod herd;
mod hit;
mod outage;
mod rows;
mod sample;

use std::io;

use redis::RedisError;
use singleflight_redis::ConnectError;

use crate::fleet::FleetError;
use crate::fleet::local_server::{LocalServer, ServerError};
use crate::show;

/// Something could not be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FiguresError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the server did not answer: {0}")]
    Redis(#[from] RedisError),
    #[error("something could not be stopped or written: {0}")]
    Io(#[from] io::Error),
    #[error("the library did not find the server again")]
    NotFound,
}

/// All tables, one run, one server.
pub(crate) async fn figures() -> Result<String, FiguresError> {
    let server = LocalServer::start().await?;
    let folder = show::folder()?;
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let mut out = format!("{}, {cores} cores, {}\n", server.version().await?, load());
    let head = |title: &str, second: &str, third: &str, fourth: &str| {
        format!("\n| {title} | {second} | {third} | {fourth} |\n|---|---|---|---|\n")
    };
    out += &head("reading", "median (half are between)", "ratio to `GET`", "bar");
    out += &lines(&hit::measure(&server.url()).await?);
    out += &head("a fleet", "median (half are between)", "largest", "bar");
    out += &lines(&herd::measure(&server.url(), folder.path()).await?);
    out += &head("an outage", "rate", "cost of a call", "loads");
    out += &lines(&outage::measure(server).await?);
    out += &format!("\nAt the end: {}\n", load());
    folder.close()?;
    Ok(out)
}

fn lines(rows: &[[String; 4]]) -> String {
    rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect()
}

/// How busy the machine is, where it says.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = load.split(' ').take(3).collect();
    if words.len() < 3 {
        "load average unknown".to_owned()
    } else {
        format!("load average {}", words.join(", "))
    }
}
