//! Measurements of one thing.

use std::fmt;
use std::time::Duration;

/// At least one number, in order.
#[derive(Clone, Debug)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn new(mut numbers: Vec<f64>) -> Self {
        numbers.sort_unstable_by(f64::total_cmp);
        Self(numbers)
    }

    pub(crate) fn micros(times: &[Duration]) -> Self {
        Self::new(times.iter().map(|time| time.as_secs_f64() * 1e6).collect())
    }

    /// The smallest that this part of them, 0 to 1, do not exceed.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let rank = (self.0.len() as f64 * part).ceil() as usize;
        self.0.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn max(&self) -> f64 {
        self.quantile(1.0)
    }
}

/// Each of the second divided by its partner of the first.
pub(crate) fn ratios(first: &[f64], second: &[f64]) -> Sample {
    Sample::new(first.iter().zip(second).map(|(first, second)| second / first).collect())
}

/// The median, and between which two numbers half of them are.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        let (low, high) = (self.quantile(0.25), self.quantile(0.75));
        write!(f, "{:.digits$} ({low:.digits$}–{high:.digits$})", self.median())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numbers_that_were_measured() {
        let sample = Sample::new(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|part| sample.quantile(part)), [1.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(format!("{sample:.0}"), "2 (1–3)");
    }

    #[test]
    fn what_was_measured_side_by_side_is_compared_side_by_side() {
        assert_eq!(ratios(&[1.0, 10.0, 100.0], &[2.0, 10.0, 300.0]).median(), 2.0);
    }
}
