//! The table for people.

use std::fmt::Write;

use crate::paint::Paint;
use crate::row::Row;
use crate::scene::Report;

const LABEL: usize = 23;
const BAR: usize = 10;
const WIDTH: usize = 100;

/// The whole output: a row for each herd, and for each scene what was expected and what was seen.
pub(crate) fn table(head: &str, reports: &[Report], paint: Paint) -> String {
    let mut out = format!("{}\n\n", paint.bold(head));
    let columns = format!(
        "{:LABEL$}{:>8}{:>8}  {:BAR$}{:>9}{:>9}{:>9}{:>7}  also",
        "scene", "callers", "queries", "", "p50", "p99", "max", "stale"
    );
    line(&mut out, &paint.bold(&columns));
    for report in reports {
        match report.rows.as_slice() {
            [only] => line(&mut out, &row(&paint.bold(&format!("{:LABEL$}", report.scene)), only, paint)),
            several => {
                line(&mut out, &paint.bold(report.scene));
                for each in several {
                    line(&mut out, &row(&format!("{:LABEL$}", format!("  {}", each.variant)), each, paint));
                }
            }
        }
        verdict(&mut out, &report.expected, &report.seen, report.as_expected, paint);
    }
    out
}

/// What was expected of a scene, and what was seen.
pub(crate) fn verdict(out: &mut String, expected: &str, seen: &str, as_expected: bool, paint: Paint) {
    let mark = if as_expected { paint.green("ok") } else { paint.red("NOT AS EXPECTED") };
    for part in wrap(&format!("expected: {expected}"), WIDTH - 2) {
        line(out, &paint.dim(&format!("  {part}")));
    }
    line(out, &format!("  {} {mark}", paint.dim(&format!("seen: {seen} -"))));
    out.push('\n');
}

/// `label` is as wide as its column already.
fn row(label: &str, row: &Row, paint: Paint) -> String {
    let part = row.queries as f64 / row.callers.max(1) as f64;
    let time = row.latency_ms;
    let stale = format!("{:>7}", row.stale);
    let stale = if row.stale > 0 { paint.yellow(&stale) } else { stale };
    let counts = [
        (row.defaults as u64, "default"),
        (row.errors as u64, "error"),
        (row.cancelled as u64, "cancelled"),
        (row.renewals, "renewal"),
        (row.fenced, "fenced"),
    ];
    format!(
        "{label}{:>8}{:>8}  {}{:>9}{:>9}{:>9}{stale}  {}",
        row.callers,
        row.queries,
        paint.bar(part, BAR),
        milliseconds(time.p50),
        milliseconds(time.p99),
        milliseconds(time.max),
        also(&counts),
    )
}

/// The counts that are not nothing.
pub(crate) fn also(counts: &[(u64, &str)]) -> String {
    let mut text = String::new();
    for (count, name) in counts.iter().filter(|(count, _)| *count > 0) {
        let plural = if *count > 1 && !name.ends_with("ed") { "s" } else { "" };
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{count} {name}{plural}");
    }
    text
}

/// A time in three figures.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms {
        // Nobody was answered.
        0.0 => "-".to_owned(),
        ..0.9995 => format!("{:.0} us", ms * 1e3),
        ..9.995 => format!("{ms:.2} ms"),
        ..99.95 => format!("{ms:.1} ms"),
        ..999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

pub(crate) fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// Breaks a text between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + 1 + word.len() > width {
            lines.push(format!("  {word}"));
            continue;
        }
        if !lines[last].is_empty() {
            lines[last].push(' ');
        }
        lines[last].push_str(word);
    }
    lines
}
