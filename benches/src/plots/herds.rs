//! Herds of callers of one key.

use serde::Deserialize;
use serde_json::Value;

use super::{Axis, Chart, Unit};
use crate::herds::End;
use crate::rounds::Measured;

/// The part of a record that is drawn.
#[derive(Deserialize)]
struct Record {
    callers: usize,
    end: End,
    /// In milliseconds.
    measured: Vec<Measured>,
}

/// A chart for each end of a load.
pub(super) fn charts(measured: Value) -> serde_json::Result<Vec<Chart>> {
    let records: Vec<Record> = serde_json::from_value(measured)?;
    let ends = [
        (End::WhenAllHaveCalled, "herds", "Callers of one key that all wait for its load"),
        (End::AtOnce, "herds-at-once", "Callers of one key whose load returns at once"),
    ];
    Ok(ends.map(|(end, name, title)| chart(&records, end, name, title)).into())
}

fn chart(records: &[Record], end: End, name: &'static str, title: &str) -> Chart {
    let x = Axis { what: "callers, a task each", unit: Unit::Count };
    let y = Axis { what: "time for each caller", unit: Unit::Time };
    let mut chart = Chart::new(name, title, x, y);
    for record in records.iter().filter(|record| record.end == end) {
        let callers = record.callers as f64;
        for one in &record.measured {
            chart.add(&one.name, callers, one.cost.times(1e6 / callers));
        }
    }
    chart
}
