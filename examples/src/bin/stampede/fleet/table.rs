//! The table for people.

use super::row::Row;
use super::scene::FleetReport;
use crate::paint::Paint;
use crate::table::{also, line, milliseconds, verdict};

const LABEL: usize = 15;
const BAR: usize = 10;

/// The whole output: a row for each scene, and what was expected and what was seen.
pub(crate) fn table(head: &str, reports: &[FleetReport], paint: Paint) -> String {
    let mut out = format!("{}\n\n", paint.bold(head));
    let columns = format!(
        "{:LABEL$}{:>8}{:>8}  {:BAR$}{:>9}{:>7}{:>10}{:>9}{:>9}  also",
        "scene", "callers", "queries", "", "commands", "trips", "late p50", "p99", "max"
    );
    line(&mut out, &paint.bold(&columns));
    for report in reports {
        line(&mut out, &row(&paint.bold(&format!("{:LABEL$}", report.scene)), &report.row, paint));
        verdict(&mut out, &report.expected, &report.seen, report.as_expected, paint);
    }
    out
}

/// `label` is as wide as its column already.
fn row(label: &str, row: &Row, paint: Paint) -> String {
    let part = row.queries as f64 / f64::from(row.callers.max(1));
    let sent = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let counts = [
        (row.errors as u64, "error"),
        (row.killed.into(), "killed"),
        (row.renewals, "renewal"),
        (row.fenced, "fenced"),
    ];
    format!(
        "{label}{:>8}{:>8}  {}{:>9}{:>7}{:>10}{:>9}{:>9}  {}",
        row.callers,
        row.queries,
        paint.bar(part, BAR),
        sent(row.commands),
        sent(row.round_trips),
        milliseconds(row.late_ms.p50),
        milliseconds(row.late_ms.p99),
        milliseconds(row.late_ms.max),
        also(&counts),
    )
}
