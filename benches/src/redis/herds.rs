//! A hundred callers of one key in four processes: nothing is stored, or the load fails.

use std::io;

use super::fleet::Fleet;
use super::peers::Kind;
use super::rounds;
use super::series::{Series, show, take_turns};
use super::server::Server;
use crate::report::Table;

const PROCESSES: usize = 4;
pub(super) const EACH: usize = 25;
const COLD: usize = 11;
const FAILING: usize = 3;

/// Both.
pub(super) fn measure(server: &Server) -> io::Result<(Vec<Table>, [Vec<Series>; 2])> {
    let start = |kind| Fleet::start(kind, server, PROCESSES);
    let mut fleets: Vec<_> = Kind::HERDS.into_iter().map(start).collect::<io::Result<_>>()?;
    eprintln!("herds of {PROCESSES} processes");
    let cold = take_turns(&mut fleets, server, (EACH, false), rounds(COLD))?;
    eprintln!("the same, failing");
    let failing = take_turns(&mut fleets, server, (EACH, true), rounds(FAILING))?;
    let callers = PROCESSES * EACH;
    let herd = format!("{callers} callers in {PROCESSES} processes");
    let what = format!(
        "Nothing is stored; all call the same key; a load takes 80 to 120 ms, as the round has it, and ends when all \
         have called. Commands: all that clients sent, subscriptions, renewals and the like too, without connecting. \
         Late: from the end of the first load on, to the answers of those who ran none. {} herds each, in turns.",
        rounds(COLD),
    );
    let failing_what = format!(
        "The same, but all loads fail. In the recipe who has waited for {} ms loads without the lock. {} herds each.",
        super::peers::LEASE.as_millis(),
        rounds(FAILING),
    );
    let failing_title = format!("{herd}, the load fails");
    let tables = vec![table(&herd, &what, &cold, 0), table(&failing_title, &failing_what, &failing, callers)];
    Ok((tables, [cold, failing]))
}

/// So many errors are right.
fn table(title: &str, what: &str, all: &[Series], errors: usize) -> Table {
    let head = ["", "loads", "commands", "late, p50, ms", "late, p99, ms", "last answer, ms", ""];
    let mut table = Table::new(title, what, head);
    for series in all {
        table.rows.push(vec![
            series.name.to_owned(),
            show(series.spread(|round| round.loads()), 0),
            show(series.spread(|round| round.commands()), 0),
            show(series.spread(|round| round.late_p50()), 1),
            show(series.spread(|round| round.late_p99()), 1),
            show(series.spread(|round| round.last()), 1),
            remark(series, errors),
        ]);
    }
    table
}

fn remark(series: &Series, errors: usize) -> String {
    if let Some(why) = &series.given_up {
        return format!("given up: {why}");
    }
    let wrong: usize = series.rounds.iter().map(|round| round.errors.abs_diff(errors)).sum();
    assert!(wrong == 0 || series.name != Kind::Ours.name(), "all callers of ours are answered alike");
    match (wrong, series.rounds.iter().any(|round| round.waiters > 0)) {
        (0, true) => String::new(),
        (0, false) => "nobody waits: all load".to_owned(),
        (wrong, _) => format!("{wrong} callers in all were answered wrongly"),
    }
}
