//! Tables, as Markdown for readers and JSON for programs.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde::Serialize;

/// A table.
#[derive(Debug, Serialize)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// What was done, in full sentences.
    pub what: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows yet.
    pub fn new<const N: usize>(title: &str, what: &str, head: [&str; N]) -> Self {
        Self {
            title: title.to_owned(),
            what: what.to_owned(),
            head: head.map(str::to_owned).into(),
            rows: Vec::new(),
        }
    }

    fn markdown(&self) -> String {
        let mut text = format!("### {}\n\n{}\n\n", self.title, self.what);
        let _ = writeln!(text, "| {} |\n|{}", self.head.join(" | "), "---|".repeat(self.head.len()));
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text
    }
}

/// Prints a report, and writes it to `results/name.md` and, with all that was measured, `results/name.json`.
///
/// # Errors
///
/// Those of writing.
pub fn publish(name: &str, about: &str, tables: &[Table], measured: &impl Serialize) -> io::Result<()> {
    let mut text = format!("{about}\n\n");
    for table in tables {
        text.push_str(&table.markdown());
        text.push('\n');
    }
    print!("{text}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{name}.md")), format!("{}\n", text.trim_end()))?;
    let json = serde_json::json!({ "about": about, "tables": tables, "measured": measured });
    std::fs::write(folder.join(format!("{name}.json")), format!("{json:#}\n"))
}
