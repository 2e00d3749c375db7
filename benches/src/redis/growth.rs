//! The same herd from more and more processes: ours and the recipe.

use std::io;

use serde::Serialize;

use super::fleet::Fleet;
use super::herds::EACH;
use super::peers::Kind;
use super::rounds;
use super::series::{Round, Series, show, take_turns};
use super::server::Server;
use crate::report::Table;
use crate::rounds::Spread;

const PROCESSES: [usize; 6] = [1, 2, 4, 8, 16, 32];
const KINDS: [Kind; 2] = [Kind::Ours, Kind::Recipe];
const ROUNDS: usize = 7;

/// For plots: what each list has at one place belongs together.
#[derive(Serialize)]
pub(super) struct Record {
    processes: Vec<usize>,
    callers: Vec<usize>,
    lines: Vec<Line>,
    measured: Vec<Vec<Series>>,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    loads: Vec<Option<Spread>>,
    commands: Vec<Option<Spread>>,
    late_p50_ms: Vec<Option<Spread>>,
    late_p99_ms: Vec<Option<Spread>>,
}

/// Runs it.
pub(super) fn measure(server: &Server) -> io::Result<(Table, Record)> {
    let mut measured = Vec::new();
    for processes in PROCESSES {
        eprintln!("herds of {processes} processes, ours and the recipe");
        let start = |kind| Fleet::start(kind, server, processes);
        let mut fleets: Vec<_> = KINDS.into_iter().map(start).collect::<io::Result<_>>()?;
        measured.push(take_turns(&mut fleets, server, (EACH, false), rounds(ROUNDS))?);
    }
    let lines = (0..KINDS.len()).map(|kind| line(kind, &measured)).collect();
    let callers = PROCESSES.map(|processes| processes * EACH).into();
    let record = Record { processes: PROCESSES.into(), callers, lines, measured };
    Ok((table(&record), record))
}

fn line(kind: usize, measured: &[Vec<Series>]) -> Line {
    let of = |number: fn(&Round) -> f64| measured.iter().map(|all| all[kind].spread(number)).collect();
    Line {
        name: KINDS[kind].name(),
        loads: of(Round::loads),
        commands: of(Round::commands),
        late_p50_ms: of(Round::late_p50),
        late_p99_ms: of(Round::late_p99),
    }
}

fn table(record: &Record) -> Table {
    let what = format!(
        "As above, {EACH} callers in each process; ours, then the recipe. {} herds each, in turns.",
        rounds(ROUNDS),
    );
    let head = [
        "processes",
        "callers",
        "loads, ours",
        "recipe",
        "commands, ours",
        "recipe",
        "late, p99, ms, ours",
        "recipe",
    ];
    let mut table = Table::new("A herd by its processes", &what, head);
    for (at, processes) in record.processes.iter().enumerate() {
        let mut row = vec![processes.to_string(), record.callers[at].to_string()];
        row.extend(record.lines.iter().map(|line| show(line.loads[at], 0)));
        row.extend(record.lines.iter().map(|line| show(line.commands[at], 0)));
        row.extend(record.lines.iter().map(|line| show(line.late_p99_ms[at], 1)));
        table.rows.push(row);
    }
    table
}
