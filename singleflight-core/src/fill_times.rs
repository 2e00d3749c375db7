//! How long a function's fills take, and the lease TTL that follows from it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::policy::LONGEST;
use crate::sync::{Mutex, lock};

/// How [`LockTtl::Auto`](crate::LockTtl::Auto) turns the recent p99 of a function's fills into its lease TTL.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct AutoLease {
    factor: f64,
    floor: Duration,
    cap: Duration,
    unknown: Duration,
}

impl AutoLease {
    /// Twice the p99, at least 500 ms and at most 60 s; 5 s while nothing is known.
    pub const fn new() -> Self {
        Self {
            factor: 2.0,
            floor: Duration::from_millis(500),
            cap: Duration::from_secs(60),
            unknown: Duration::from_secs(5),
        }
    }

    /// By what the p99 is multiplied: 1 to 1000, anything else counts as 2, the default.
    pub const fn factor(mut self, factor: f64) -> Self {
        self.factor = if factor >= 1.0 && factor <= 1000.0 { factor } else { 2.0 };
        self
    }

    /// The shortest lease TTL; at least 1 ms. Default: 500 ms.
    pub const fn floor(mut self, floor: Duration) -> Self {
        self.floor = if floor.is_zero() { Duration::from_millis(1) } else { floor };
        self
    }

    /// The longest lease TTL; the floor wins over it. Default: 60 s.
    pub const fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    pub(crate) fn ttl(&self, p99: Option<Duration>) -> Duration {
        let ttl = p99.map_or(self.unknown, |p99| p99.min(self.cap.min(LONGEST)).mul_f64(self.factor));
        ttl.min(self.cap).max(self.floor)
    }
}

impl Default for AutoLease {
    fn default() -> Self {
        Self::new()
    }
}

/// The recent fill times of one function: those of the current and of the last window.
pub(crate) struct FillTimes {
    windows: Mutex<Option<Windows>>,
    /// The p99 in microseconds as last computed; 0 while there is none. All that a call reads.
    p99: AtomicU64,
}

struct Windows {
    current: Histogram<u32>,
    /// With those of the window before.
    recent: Histogram<u32>,
    /// How many were above the p99 since it was computed.
    above: u64,
}

impl Windows {
    /// Made at a function's first fill; two significant digits take 13 kB each.
    fn new() -> Option<Self> {
        let current = Histogram::new_with_bounds(1, FillTimes::LONGEST, 2).ok()?;
        Some(Self { recent: current.clone(), current, above: 0 })
    }

    /// Adds a fill; says whether the p99, which was this, is to be computed anew.
    ///
    /// That walks buckets: once there are many fills it is done for those that may move it, more than one in a hundred
    /// above it, and now and then for those below.
    fn record(&mut self, micros: u64, p99: u64) -> bool {
        if self.current.len() >= FillTimes::WINDOW {
            // Both are made alike, so the sum always fits.
            self.recent.reset();
            let _ = self.recent.add(&self.current);
            self.current.reset();
        }
        self.current.saturating_record(micros);
        self.recent.saturating_record(micros);
        self.above += u64::from(micros > p99);
        let n = self.recent.len();
        let due = n < 16 || n.is_multiple_of(64) || self.above * 100 > n;
        if due {
            self.above = 0;
        }
        due
    }
}

impl FillTimes {
    /// Fills per window: old ones are forgotten after twice as many.
    const WINDOW: u64 = 512;
    /// The longest time told apart, in microseconds: an hour.
    const LONGEST: u64 = 3_600_000_000;

    pub(crate) const fn new() -> Self {
        Self { windows: Mutex::new(None), p99: AtomicU64::new(0) }
    }

    /// Adds a fill.
    pub(crate) fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).clamp(1, Self::LONGEST);
        let mut windows = lock(&self.windows);
        if windows.is_none() {
            *windows = Windows::new();
        }
        let Some(windows) = &mut *windows else { return };
        if windows.record(micros, self.p99.load(Ordering::Relaxed)) {
            self.p99.store(windows.recent.value_at_quantile(0.99), Ordering::Relaxed);
        }
    }

    /// The recent p99; `None` while there is no fill.
    pub(crate) fn p99(&self) -> Option<Duration> {
        match self.p99.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        }
    }

    /// A quantile of the recent fills.
    pub(crate) fn quantile(&self, q: f64) -> Option<Duration> {
        let windows = lock(&self.windows);
        windows.as_ref().map(|w| Duration::from_micros(w.recent.value_at_quantile(q)))
    }
}

impl fmt::Debug for FillTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FillTimes").field("p99", &self.p99()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_lease_follows_the_p99_between_floor_and_cap() {
        let auto = AutoLease::new();
        assert_eq!(auto.ttl(None), Duration::from_secs(5));
        assert_eq!(auto.ttl(Some(millis(10))), millis(500));
        assert_eq!(auto.ttl(Some(millis(700))), millis(1400));
        assert_eq!(auto.ttl(Some(Duration::from_secs(3000))), Duration::from_secs(60));
        assert_eq!(auto.factor(3.0).ttl(Some(millis(700))), millis(2100));
        assert_eq!(auto.ttl(Some(Duration::MAX)), Duration::from_secs(60));
    }

    #[test]
    fn recent_fills_count_and_old_ones_are_forgotten() {
        let times = FillTimes::new();
        assert_eq!(times.p99(), None);
        for _ in 0..2000 {
            times.record(millis(100));
        }
        let p99 = times.p99().unwrap();
        assert!(p99 >= millis(99) && p99 <= millis(102), "{p99:?}");
        for _ in 0..20 {
            times.record(millis(900));
        }
        assert!(times.p99().unwrap() >= millis(890));
        for _ in 0..2000 {
            times.record(millis(50));
        }
        assert!(times.p99().unwrap() <= millis(52));
    }
}
