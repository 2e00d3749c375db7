//! Who calls when, and how long loads take: from the seed alone, so that both sides of a race are the same.

use serde::{Deserialize, Serialize};

use crate::setting::Setting;

/// A call to be made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Planned {
    pub(crate) call: u32,
    pub(crate) process: u32,
    pub(crate) key: u32,
    /// Milliseconds after the race began.
    pub(crate) at: f64,
}

/// What a number is drawn for: draws for one thing do not move those for another.
#[derive(Clone, Copy)]
enum Draw {
    Arrival = 1,
    Key = 2,
    Load = 3,
}

/// All calls of a side, in the order in which they come.
pub(crate) fn calls(seed: u64, setting: &Setting) -> Vec<Planned> {
    let mut times: Vec<f64> = (0..setting.callers)
        .map(|call| draw(seed, Draw::Arrival, call, 0) * f64::from(setting.arrivals_ms))
        .collect();
    times.sort_by(f64::total_cmp);
    let call = |(call, at): (u32, f64)| Planned {
        call,
        process: call % setting.processes,
        key: part(draw(seed, Draw::Key, call, 0), setting.keys),
        at: (at * 1e3).round() / 1e3,
    };
    (0..).zip(times).map(call).collect()
}

/// How long the `nth` load of a key takes, in milliseconds.
pub(crate) fn load_ms(seed: u64, setting: &Setting, key: u32, nth: u32) -> f64 {
    let spread = f64::from(setting.load_spread) / 100.0;
    let factor = 1.0 + spread * (2.0 * draw(seed, Draw::Load, key, nth) - 1.0);
    f64::from(setting.load_ms) * factor
}

/// A number from 0 to 1 that hangs on nothing else.
fn draw(seed: u64, of: Draw, number: u32, nth: u32) -> f64 {
    let place = (of as u64) << 60 | u64::from(number) << 30 | u64::from(nth);
    fastrand::Rng::with_seed(seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).f64()
}

/// The part of `parts` that a fraction falls into.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most sixteen, and positive")]
fn part(fraction: f64, parts: u32) -> u32 {
    ((fraction * f64::from(parts)) as u32).min(parts - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::defaults;

    #[test]
    fn loads_take_as_long_as_their_spread_allows_and_the_same_for_one_seed() {
        let setting = Setting { load_ms: 100, load_spread: 30, ..defaults() };
        let times: Vec<f64> = (0..500).map(|nth| load_ms(7, &setting, nth % 3, nth)).collect();
        assert!(times.iter().all(|ms| (70.0..=130.0).contains(ms)));
        assert!(times.iter().any(|ms| *ms < 80.0) && times.iter().any(|ms| *ms > 120.0));
        assert_eq!(times, (0..500).map(|nth| load_ms(7, &setting, nth % 3, nth)).collect::<Vec<_>>());
    }

    #[test]
    fn more_keys_or_processes_leave_the_times_of_calls_alone() {
        let setting = Setting { arrivals_ms: 500, ..defaults() };
        let other = Setting { keys: 9, processes: 4, ..setting.clone() };
        let times = |setting: &Setting| calls(3, setting).iter().map(|call| call.at).collect::<Vec<_>>();
        assert_eq!(times(&setting), times(&other));
        assert!(times(&setting).is_sorted());
    }
}
