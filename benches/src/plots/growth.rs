//! Ever more keys and waiters, ever larger values.

use serde_json::Value;

use super::{Axis, Chart, Unit};
use crate::growth::{Filled, Growth, Heavy, Waited};
use crate::rounds::Spread;

const KEYS: Axis = Axis { what: "keys in the store", unit: Unit::Count };
const WAITERS: Axis = Axis { what: "waiters, a task each", unit: Unit::Count };

/// All of them.
pub(super) fn charts(measured: Value) -> serde_json::Result<Vec<Chart>> {
    let Growth { keys, waiters, values } = serde_json::from_value(measured)?;
    let time = |what| Axis { what, unit: Unit::Time };
    let fills = by_keys(
        &keys.filled,
        "growth-fill",
        "A fill, by the number of keys",
        time("time of a fill"),
        |one| Some(one.fill),
    );
    let hits =
        by_keys(&keys.filled, "growth-hit", "A hit, by the number of keys", time("time of a hit"), |one| {
            Some(one.hit)
        });
    let bytes = Axis { what: "memory of a key", unit: Unit::Bytes };
    // Apart: what the allocator takes beside what it is asked for is in one of them alone.
    let memory = by_keys(
        &keys.filled,
        "growth-memory",
        "Memory of the process, by the number of keys",
        bytes,
        |one| one.resident,
    );
    let heap =
        by_keys(&keys.filled, "growth-heap", "Asked of the allocator, by the number of keys", bytes, |one| {
            one.heap.map(|heap| Spread { low: heap, median: heap, high: heap })
        });
    let each = time("time for each waiter");
    let each = by_waiters(&waiters, "growth-waiters", "Until all waiters are answered", each, |one| one.each);
    let late = time("time after the load's end");
    let late =
        by_waiters(&waiters, "growth-late", "Until 99 of 100 waiters are answered", late, |one| one.p99);
    Ok(vec![fills, hits, memory, heap, each, late, by_size(&values)])
}

fn by_keys(
    filled: &[Filled],
    name: &'static str,
    title: &str,
    y: Axis,
    of: fn(&Filled) -> Option<Spread>,
) -> Chart {
    let mut chart = Chart::new(name, title, KEYS, y);
    for one in filled {
        if let Some(value) = of(one) {
            chart.add(&one.name, one.keys as f64, value);
        }
    }
    chart
}

fn by_waiters(
    waited: &[Waited],
    name: &'static str,
    title: &str,
    y: Axis,
    of: fn(&Waited) -> Spread,
) -> Chart {
    let mut chart = Chart::new(name, title, WAITERS, y);
    for one in waited {
        // Microseconds.
        chart.add(&one.name, one.waiters as f64, of(one).times(1e3));
    }
    chart
}

fn by_size(values: &[Heavy]) -> Chart {
    let x = Axis { what: "size of the value", unit: Unit::Bytes };
    let y = Axis { what: "time of a hit", unit: Unit::Time };
    let mut chart = Chart::new("growth-values", "A hit, by the size of the value", x, y);
    for heavy in values {
        for one in &heavy.measured {
            chart.add(&one.name, heavy.bytes as f64, one.cost);
        }
    }
    chart
}
