//! One caller: a hit, and the fill of a key that nothing is stored for.

use std::io;

use serde::Serialize;
use tokio::runtime::Runtime;

use super::alone::{Asked, fills, hits, text};
use super::fleet::next_key;
use super::peers::Kind;
use super::rounds;
use super::server::{Server, field};
use super::wire::{Commands, Wire};
use crate::report::Table;
use crate::rounds::{Contender, Measured, take_turns};

const ROUNDS: usize = 31;
/// Calls in a round.
const HITS: usize = 500;
const FILLS: usize = 50;
/// Fills that are counted, each by itself.
const COUNTED: usize = 5;
const BYTES: usize = 100;

#[derive(Serialize)]
pub(super) struct Record {
    hits: Vec<Measured>,
    fills: Vec<Measured>,
    counted: Vec<Counted>,
}

/// What a fill sends.
#[derive(Serialize)]
struct Counted {
    name: &'static str,
    /// By round.
    commands: Vec<Commands>,
    round_trips: Vec<u64>,
}

/// Runs it.
pub(super) fn measure(runtime: &Runtime, server: &Server) -> io::Result<(Vec<Table>, Record)> {
    eprintln!("hits and fills of one caller");
    let bare = Asked::bare(runtime, server);
    let peers = Kind::ALONE.map(|kind| (kind.name(), Asked::peer(runtime, server, kind)));
    let mut contenders = vec![Contender::new("bare `GET`", hits(runtime, bare.clone(), BYTES, HITS))];
    contenders.extend(
        peers.iter().map(|(name, peer)| Contender::new(name, hits(runtime, peer.clone(), BYTES, HITS))),
    );
    let measured = take_turns(&mut contenders, rounds(ROUNDS));
    let mut contenders = vec![Contender::new("bare `SET`", fills(runtime, bare, BYTES, FILLS))];
    contenders.extend(
        peers.iter().map(|(name, peer)| Contender::new(name, fills(runtime, peer.clone(), BYTES, FILLS))),
    );
    let filled = take_turns(&mut contenders, rounds(ROUNDS));
    drop(contenders);
    let mut wire = Wire::listen(server)?;
    let counted = Kind::ALONE.into_iter().zip(peers);
    let counted = counted
        .map(|(kind, (_, peer))| count(runtime, server, &mut wire, kind, peer))
        .collect::<io::Result<_>>()?;
    let record = Record { hits: measured, fills: filled, counted };
    Ok((vec![hit_table(&record), fill_table(&record)], record))
}

/// Commands by `MONITOR`; round trips by how often the server read something, while nobody else speaks.
fn count(
    runtime: &Runtime,
    server: &Server,
    wire: &mut Wire,
    kind: Kind,
    mut peer: Asked,
) -> io::Result<Counted> {
    let mut connection = server.connect(0).map_err(io::Error::other)?;
    let mut reads = || -> io::Result<u64> {
        let info: String =
            redis::cmd("INFO").arg("stats").query(&mut connection).map_err(io::Error::other)?;
        let reads = field(&info, "total_reads_processed").and_then(|reads| reads.parse().ok());
        reads.ok_or_else(|| io::Error::other("the server does not tell how often it reads"))
    };
    let mut counted = Counted { name: kind.name(), commands: Vec::new(), round_trips: Vec::new() };
    for _ in 0..COUNTED {
        let key = next_key();
        wire.begin(kind.database(), key)?;
        let before = reads()?;
        runtime.block_on(peer.fill(key, &text(BYTES)));
        // The second question is one more.
        counted.round_trips.push(reads()? - before - 1);
        counted.commands.push(wire.sent(key)?);
    }
    Ok(counted)
}

fn hit_table(record: &Record) -> Table {
    let what = format!(
        "One caller, a value of {BYTES} bytes that is stored: the median of {HITS} calls of one key, {} times, in turns. \
         The bare `GET` goes over a connection with the settings of ours (RESP3, nodelay, a time-out). amalgam-cache, \
         which keeps values in memory too, is told not to here.",
        rounds(ROUNDS),
    );
    let mut table =
        Table::new("A hit on Redis", &what, ["", "µs, median (half are between)", "ratio to `GET`"]);
    for one in &record.hits {
        table.rows.push(vec![one.name.clone(), one.cost.show(1), one.ratio.show(2)]);
    }
    table
}

fn fill_table(record: &Record) -> Table {
    let what = format!(
        "One caller, nothing stored, a load that returns {BYTES} bytes at once: the median of {FILLS} calls of new keys, \
         {} times, in turns. Commands are all that the client sent (`MONITOR`); round trips are how often the server \
         read something meanwhile.",
        rounds(ROUNDS),
    );
    let head = ["", "µs, median (half are between)", "ratio to `SET`", "commands", "round trips"];
    let mut table = Table::new("A cold fill on Redis", &what, head);
    for (at, one) in record.fills.iter().enumerate() {
        let counts = match at.checked_sub(1).map(|at| &record.counted[at]) {
            None => ["1".to_owned(), "1".to_owned()],
            Some(counted) => {
                let commands = counted.commands.iter().map(|commands| commands.values().sum()).collect();
                [median(commands).to_string(), median(counted.round_trips.clone()).to_string()]
            }
        };
        let mut row = vec![one.name.clone(), one.cost.show(1), one.ratio.show(2)];
        row.extend(counts);
        table.rows.push(row);
    }
    table
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}
