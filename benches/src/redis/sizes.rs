//! Values of more and more bytes: ours and the recipe beside the bare commands.

use std::io;

use serde::Serialize;
use tokio::runtime::Runtime;

use super::alone::{Asked, fills, hits};
use super::peers::Kind;
use super::rounds;
use super::server::Server;
use crate::report::Table;
use crate::rounds::{Contender, Measured, take_turns};

const BYTES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1 << 20];
const ROUNDS: usize = 21;

/// For plots: what each list has at one place belongs together.
#[derive(Serialize)]
pub(super) struct Record {
    bytes: Vec<usize>,
    /// By size, then by who was asked.
    hits: Vec<Vec<Measured>>,
    fills: Vec<Vec<Measured>>,
}

/// Runs it.
pub(super) fn measure(runtime: &Runtime, server: &Server) -> io::Result<(Vec<Table>, Record)> {
    let mut record = Record { bytes: BYTES.into(), hits: Vec::new(), fills: Vec::new() };
    for bytes in BYTES {
        eprintln!("values of {bytes} bytes");
        let asked = [
            ("", Asked::bare(runtime, server)),
            (Kind::Ours.name(), Asked::peer(runtime, server, Kind::Ours)),
            (Kind::Recipe.name(), Asked::peer(runtime, server, Kind::Recipe)),
        ];
        // Few enough of the large ones that the server has room for them.
        let calls = (2_000_000 / bytes).clamp(5, 50);
        let mut contenders = Vec::new();
        for (name, asked) in &asked {
            let name = if name.is_empty() { "bare `GET`" } else { name };
            contenders.push(Contender::new(name, hits(runtime, asked.clone(), bytes, calls * 4)));
        }
        record.hits.push(take_turns(&mut contenders, rounds(ROUNDS)));
        let mut contenders = Vec::new();
        for (name, asked) in &asked {
            let name = if name.is_empty() { "bare `SET`" } else { name };
            contenders
                .push(Contender::new(name, emptying(server, fills(runtime, asked.clone(), bytes, calls))?));
        }
        record.fills.push(take_turns(&mut contenders, rounds(ROUNDS)));
    }
    let tables = vec![
        table("A hit by the size of the value", "a value that is stored", "GET", &record.bytes, &record.hits),
        table(
            "A cold fill by the size of the value",
            "nothing stored, a load that returns at once",
            "SET",
            &record.bytes,
            &record.fills,
        ),
    ];
    Ok((tables, record))
}

/// Leaves nothing on the server.
fn emptying(server: &Server, mut go: impl FnMut() -> f64) -> io::Result<impl FnMut() -> f64> {
    let mut connection = server.connect(0).map_err(io::Error::other)?;
    Ok(move || {
        let took = go();
        redis::cmd("FLUSHALL").query::<()>(&mut connection).expect("the server is there");
        took
    })
}

fn table(title: &str, about: &str, command: &str, sizes: &[usize], all: &[Vec<Measured>]) -> Table {
    let what =
        format!("One caller, {about}; µs, medians (half are between), {} rounds in turns.", rounds(ROUNDS));
    let bare = format!("bare `{command}`");
    let ratio = format!("ratio to `{command}`");
    let head = ["bytes", &bare, Kind::Ours.name(), &ratio, Kind::Recipe.name(), &ratio];
    let mut table = Table::new(title, &what, head);
    for (bytes, measured) in sizes.iter().zip(all) {
        let mut row = vec![bytes.to_string(), measured[0].cost.show(0)];
        for one in &measured[1..] {
            row.extend([one.cost.show(0), one.ratio.show(2)]);
        }
        table.rows.push(row);
    }
    table
}
