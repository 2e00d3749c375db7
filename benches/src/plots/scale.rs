//! Logarithmic axes: how far they go, and what is written beside them.

use std::ops::Range;

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
}

impl Unit {
    /// A value as a reader wants it, with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Count => by(value, &[(1e6, " M"), (1e3, " k"), (1.0, "")]),
            Self::Bytes => by(value, &[(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")]),
            Self::Time => by(value, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")]),
        }
    }
}

/// In the largest unit of which it is one or more.
fn by(value: f64, units: &[(f64, &str)]) -> String {
    // Powers of ten are not exact.
    let unit = units.iter().find(|(size, _)| value * (1.0 + 1e-9) >= *size).or(units.last());
    unit.map_or_else(String::new, |(size, name)| {
        let number = (value / size * 1e3).round() / 1e3;
        format!("{number}{name}")
    })
}

/// Room for all values, with a little more at both ends.
pub(super) fn room(values: impl Iterator<Item = f64>, more: f64) -> Range<f64> {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
    if low > high { 1.0..10.0 } else { low / more..high * more }
}

/// Values to name, and others that only have lines.
pub(super) fn ticks(range: &Range<f64>) -> (Vec<f64>, Vec<f64>) {
    let decades = (range.end / range.start).log10();
    let named: &[u8] = if decades > 3.5 {
        &[1]
    } else if decades > 1.5 {
        &[1, 2, 5]
    } else {
        &[1, 2, 3, 5, 7]
    };
    let first = range.start.log10().floor() as i32;
    let last = range.end.log10().ceil() as i32;
    let all = (first..=last)
        .flat_map(|power| (1..=9_u8).map(move |digit| (digit, f64::from(digit) * 10_f64.powi(power))))
        .filter(|(_, value)| range.contains(value));
    let (bold, light): (Vec<_>, Vec<_>) = all.partition(|(digit, _)| named.contains(digit));
    let values = |ticks: Vec<(u8, f64)>| ticks.into_iter().map(|(_, value)| value).collect();
    (values(bold), values(light))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_named_in_the_largest_unit_that_fits() {
        assert_eq!(Unit::Time.show(0.5), "0.5 ns");
        assert_eq!(Unit::Time.show(2e3), "2 µs");
        assert_eq!(Unit::Time.show(10_f64.powi(9)), "1 s");
        assert_eq!(Unit::Count.show(100_000.0), "100 k");
        assert_eq!(Unit::Bytes.show(1e6), "1 MB");
    }

    #[test]
    fn many_decades_are_named_alone_and_few_have_names_between() {
        assert_eq!(ticks(&(1.0..99_999.0)).0, [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(ticks(&(1.0..99.0)).0, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(ticks(&(3.0..8.0)).1, [4.0, 6.0]);
    }

    #[test]
    fn nothing_to_show_has_room_all_the_same() {
        assert_eq!(room([0.0].into_iter(), 2.0), 1.0..10.0);
        assert_eq!(room([4.0, 8.0].into_iter(), 2.0), 2.0..16.0);
    }
}
