//! Draws what the other parts have measured, from what they have written to `results`, and from nothing else.

mod chart;
mod growth;
mod herds;
mod look;
mod redis;
mod results;
mod scale;

use std::io;

use serde_json::Value;

pub use self::chart::{Axis, Chart};
pub use self::scale::Unit;

/// Makes charts of what a part has measured. Who has a series to show takes a [`Chart`], and says
/// [`add`](Chart::add) for each point.
type Charts = fn(Value) -> serde_json::Result<Vec<Chart>>;

/// Parts whose results are drawn.
const DRAWN: [(&str, Charts); 3] =
    [("herds", herds::charts), ("redis", redis::charts), ("growth", growth::charts)];

/// Runs it.
///
/// # Errors
///
/// Those of reading and writing, and for results that are not as their part writes them. A part without results is no
/// error: that it was not drawn is said.
pub fn run() -> io::Result<()> {
    for (part, charts) in DRAWN {
        let file = results::file(part);
        let Some(measured) = results::measured(&file)? else {
            println!("{} is not there, so nothing is drawn of it: scripts/bench {part}", file.display());
            continue;
        };
        for chart in charts(measured).map_err(|error| results::malformed(&file, &error))? {
            let path = file.with_file_name(format!("{}.svg", chart.name()));
            chart.draw(&path)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}
