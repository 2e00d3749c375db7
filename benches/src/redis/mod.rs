//! On one Redis server: ours, the recipe that people write by hand, and other crates that keep values there.
//!
//! | file | holds |
//! |---|---|
//! | `peers` | who is compared |
//! | `server`, `wire`, `client` | the server, what it is sent, and connections to it |
//! | `hits`, `sizes`, `alone` | one caller, in this process |
//! | `herds`, `killed`, `growth`, `series`, `outcome` | many callers in many processes |
//! | `fleet`, `member`, `worker`, `message`, `source` | those processes, and what they load |

mod alone;
mod client;
mod fleet;
mod growth;
mod herds;
mod hits;
mod killed;
mod member;
mod message;
mod outcome;
mod peers;
mod series;
mod server;
mod sizes;
mod source;
mod wire;
mod worker;

use std::io;

use serde::Serialize;
use tokio::runtime::Builder;

use self::server::Server;
use crate::machine;
use crate::report::publish;

pub use self::worker::run as worker;

/// The most rounds that are made of anything: for a look at whether it works.
const ROUNDS: &str = "REDIS_ROUNDS";

#[derive(Serialize)]
struct Record {
    alone: hits::Record,
    herds: Vec<series::Series>,
    failing: Vec<series::Series>,
    killed: Vec<killed::Record>,
    growth: growth::Record,
    sizes: sizes::Record,
}

/// Runs it.
///
/// # Errors
///
/// Those of the server, of processes, and of writing.
pub fn run() -> io::Result<()> {
    let before = machine::load();
    let server = Server::start()?;
    let version = server.version().map_err(io::Error::other)?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut tables, alone) = hits::measure(&runtime, &server)?;
    let (sized, sizes) = sizes::measure(&runtime, &server)?;
    // Whatever is connected from here speaks no more.
    drop(runtime);
    let (herded, [herds, failing]) = herds::measure(&server)?;
    let (kills, killed) = killed::measure(&server)?;
    let (grown, growth) = growth::measure(&server)?;
    server.stop()?;
    tables.extend(herded);
    tables.extend([kills, grown]);
    tables.extend(sized);
    let about = format!(
        "Redis {version} on loopback, a server for this run alone; {} `cachekit` is left out: 0.8 has eviction policies, \
         and nothing that loads.",
        machine::about(&before),
    );
    publish("redis", &about, &tables, &Record { alone, herds, failing, killed, growth, sizes })
}

/// So many, unless there are to be fewer.
fn rounds(full: usize) -> usize {
    let most = std::env::var(ROUNDS).ok().and_then(|most| most.parse().ok()).unwrap_or(full);
    full.min(most).max(1)
}
