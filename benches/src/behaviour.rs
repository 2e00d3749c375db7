//! Puts every candidate through every scene, and tells what came of it.

use std::panic;

use serde::Serialize;

use crate::machine;
use crate::peers::candidates;
use crate::report::{Table, publish};
use crate::scenes::{Scene, Seen, scenes};

#[derive(Serialize)]
struct Record {
    scene: &'static str,
    peer: &'static str,
    #[serde(flatten)]
    seen: Seen,
}

/// Runs it.
///
/// # Errors
///
/// Those of writing.
pub fn run() -> std::io::Result<()> {
    // Panics belong to a scene.
    panic::set_hook(Box::new(|_| {}));
    let before = machine::load();
    let (mut tables, mut records) = (Vec::new(), Vec::new());
    for scene in scenes() {
        let mut table = table(scene);
        for candidate in candidates() {
            eprintln!("{}: {}", scene.name, candidate.name);
            let seen = scene.run(candidate);
            table.rows.push(row(candidate.name, &seen));
            records.push(Record { scene: scene.name, peer: candidate.name, seen });
        }
        tables.push(table);
    }
    publish("behaviour", &machine::about(&before), &tables, &records)
}

fn table(scene: Scene) -> Table {
    let head = ["", "loads", "answered", "errors", "panicked", "never answered", "last answer after", "and"];
    Table::new(scene.name, scene.what, head)
}

fn row(name: &str, seen: &Seen) -> Vec<String> {
    let tally = &seen.tally;
    let mut remarks: Vec<&str> = Vec::new();
    if tally.errors > 0
        && let Some(error) = &tally.error
    {
        remarks.push(error);
    }
    if !seen.remark.is_empty() {
        remarks.push(&seen.remark);
    }
    let last =
        if tally.answered + tally.errors > 0 { format!("{} ms", tally.last_ms) } else { String::new() };
    vec![
        name.to_owned(),
        seen.loads.to_string(),
        tally.answered.to_string(),
        tally.errors.to_string(),
        tally.panicked.to_string(),
        tally.hung.to_string(),
        last,
        remarks.join("; ").replace('|', "\\|").replace('\n', " "),
    ]
}
