//! Herds of more and more processes on one server, and values of more and more bytes.

use serde::Deserialize;
use serde_json::Value;

use super::{Axis, Chart, Unit};
use crate::rounds::{Measured, Spread};

/// The parts of a record that are drawn.
#[derive(Deserialize)]
struct Record {
    growth: Growth,
    sizes: Sizes,
}

#[derive(Deserialize)]
struct Growth {
    processes: Vec<f64>,
    lines: Vec<Line>,
}

/// A place is empty where a herd was given up.
#[derive(Deserialize)]
struct Line {
    name: String,
    commands: Vec<Option<Spread>>,
    late_p99_ms: Vec<Option<Spread>>,
}

#[derive(Deserialize)]
struct Sizes {
    bytes: Vec<f64>,
    /// In microseconds, by size.
    hits: Vec<Vec<Measured>>,
    fills: Vec<Vec<Measured>>,
}

/// All of them.
pub(super) fn charts(measured: Value) -> serde_json::Result<Vec<Chart>> {
    let Record { growth, sizes } = serde_json::from_value(measured)?;
    let time = |what| Axis { what, unit: Unit::Time };
    let commands = Axis { what: "commands that the server is sent", unit: Unit::Count };
    let late = time("time after the load's end");
    Ok(vec![
        by_processes(
            &growth,
            "redis-commands",
            "Commands of a herd, 25 callers in each process",
            commands,
            |line| (&line.commands, 1.0),
        ),
        by_processes(&growth, "redis-late", "Until 99 of 100 callers are answered", late, |line| {
            (&line.late_p99_ms, 1e6)
        }),
        by_size(
            &sizes,
            "redis-hits",
            "A hit on Redis, by the size of the value",
            time("time of a hit"),
            &sizes.hits,
        ),
        by_size(
            &sizes,
            "redis-fills",
            "A cold fill on Redis, by the size of the value",
            time("time of a fill"),
            &sizes.fills,
        ),
    ])
}

fn by_processes(
    growth: &Growth,
    name: &'static str,
    title: &str,
    y: Axis,
    of: fn(&Line) -> (&[Option<Spread>], f64),
) -> Chart {
    let x = Axis { what: "processes", unit: Unit::Count };
    let mut chart = Chart::new(name, title, x, y);
    for line in &growth.lines {
        let (values, factor) = of(line);
        for (processes, value) in growth.processes.iter().zip(values) {
            if let Some(value) = value {
                chart.add(&line.name, *processes, value.times(factor));
            }
        }
    }
    chart
}

fn by_size(sizes: &Sizes, name: &'static str, title: &str, y: Axis, measured: &[Vec<Measured>]) -> Chart {
    let x = Axis { what: "size of the value", unit: Unit::Bytes };
    let mut chart = Chart::new(name, title, x, y);
    for (bytes, all) in sizes.bytes.iter().zip(measured) {
        for one in all {
            chart.add(&one.name, *bytes, one.cost.times(1e3));
        }
    }
    chart
}
