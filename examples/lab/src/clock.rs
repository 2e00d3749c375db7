//! The time of one race, which all its processes share.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Counts from the moment that the race begins; until then it stands at zero.
#[derive(Debug, Default)]
pub(crate) struct RaceClock {
    zero: OnceLock<Instant>,
}

impl RaceClock {
    /// Begins to count, from `zero`.
    pub(crate) fn begin(&self, zero: Instant) {
        // Whoever comes second is told nothing new.
        let _ = self.zero.set(zero);
    }

    /// The moment that is so many milliseconds after the beginning.
    pub(crate) fn moment(&self, ms: f64) -> Instant {
        let zero = self.zero.get().copied().unwrap_or_else(Instant::now);
        zero + Duration::from_secs_f64(ms.max(0.0) / 1e3)
    }

    /// Milliseconds since the beginning, to the microsecond.
    pub(crate) fn ms(&self) -> f64 {
        let since = self.zero.get().map_or(Duration::ZERO, Instant::elapsed);
        (since.as_secs_f64() * 1e6).round() / 1e3
    }
}

/// Microseconds by the clock that all processes of a machine share. It may be set meanwhile: good for figures only.
pub(crate) fn machine_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The moment of this process at which the machine's clock showed so many microseconds.
pub(crate) fn moment_at(us: u64) -> Instant {
    let ago = Duration::from_micros(machine_us().saturating_sub(us));
    Instant::now().checked_sub(ago).unwrap_or_else(Instant::now)
}
