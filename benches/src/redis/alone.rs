//! One caller that asks for one thing after the other, of a cache or of the server itself.

use std::sync::Arc;
use std::time::Instant;

use redis::aio::MultiplexedConnection;
use redis::cmd;
use tokio::runtime::Runtime;

use super::client;
use super::fleet::next_key;
use super::peers::{AnyShared, Kind};
use super::server::Server;
use super::source::Source;
use crate::load::Failure;

/// The database of who talks to the server itself.
const BARE: u8 = 15;

/// Whom it asks.
#[derive(Clone)]
pub(super) enum Asked {
    /// The server.
    Bare(MultiplexedConnection),
    /// A cache.
    Peer(Arc<dyn AnyShared>),
}

impl Asked {
    pub(super) fn bare(runtime: &Runtime, server: &Server) -> Self {
        Self::Bare(runtime.block_on(client::connect(&server.url(BARE))).expect("the server is there"))
    }

    pub(super) fn peer(runtime: &Runtime, server: &Server, kind: Kind) -> Self {
        Self::Peer(runtime.block_on(kind.connect(&server.url(kind.database()))).expect("the server is there"))
    }

    /// Stores a value under a key that had none.
    pub(super) async fn fill(&mut self, key: u64, text: &Arc<str>) {
        match self {
            Self::Bare(connection) => {
                let mut set = cmd("SET");
                set.arg(format!("row:{key}")).arg(text.as_bytes()).arg("PX").arg(300_000);
                set.query_async::<()>(connection).await.expect("the server is there");
            }
            Self::Peer(peer) => {
                let answer = Arc::clone(peer).get(key, Source::ready(text)).await;
                assert_eq!(answer.expect("no load fails").len(), text.len(), "it is what was loaded");
            }
        }
    }

    /// Reads a value that is there, and makes sure that it is.
    async fn hit(&mut self, key: u64, none: &Source, length: usize) {
        let found = match self {
            Self::Bare(connection) => {
                cmd("GET").arg(format!("row:{key}")).query_async(connection).await.expect("it is there")
            }
            Self::Peer(peer) => Arc::clone(peer).get(key, none.clone()).await.expect("it is there"),
        };
        assert_eq!(found.len(), length, "it is what was stored");
    }
}

/// Microseconds of a hit: the median of so many, all of one key.
pub(super) fn hits(
    runtime: &Runtime,
    mut asked: Asked,
    bytes: usize,
    calls: usize,
) -> impl FnMut() -> f64 + '_ {
    let key = next_key();
    runtime.block_on(asked.fill(key, &text(bytes)));
    let none = Source::of(async || Err(Failure::Load));
    move || {
        let (mut asked, none) = (asked.clone(), none.clone());
        run(runtime, async move {
            let mut micros = Vec::with_capacity(calls);
            for _ in 0..calls {
                let begun = Instant::now();
                asked.hit(key, &none, bytes).await;
                micros.push(begun.elapsed().as_secs_f64() * 1e6);
            }
            micros
        })
    }
}

/// Microseconds of a fill: the median of so many, each of a key of its own, whose loads return at once.
pub(super) fn fills(runtime: &Runtime, asked: Asked, bytes: usize, calls: usize) -> impl FnMut() -> f64 + '_ {
    let text = text(bytes);
    move || {
        let (mut asked, text) = (asked.clone(), Arc::clone(&text));
        run(runtime, async move {
            let mut micros = Vec::with_capacity(calls);
            for _ in 0..calls {
                let key = next_key();
                let begun = Instant::now();
                asked.fill(key, &text).await;
                micros.push(begun.elapsed().as_secs_f64() * 1e6);
            }
            micros
        })
    }
}

/// A value of so many bytes.
pub(super) fn text(bytes: usize) -> Arc<str> {
    "x".repeat(bytes).into()
}

/// As a task, as a service has it: the median.
fn run(runtime: &Runtime, calls: impl Future<Output = Vec<f64>> + Send + 'static) -> f64 {
    let mut micros = runtime.block_on(runtime.spawn(calls)).expect("no call panics");
    micros.sort_by(f64::total_cmp);
    micros[micros.len() / 2]
}
