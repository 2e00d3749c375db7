//! Failures that are cooling down, as this process knows them: with the error itself, where it can be cloned.
//!
//! The backend keeps the fleet from loading; it carries only the error's message. Here the next callers of the process
//! that failed get the very error.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::clock::far;
use crate::error::FlightErrorKind;
use crate::lease::Failed;

type Recent = Cache<(Arc<str>, u32), (Failed, Instant)>;

/// Recent failures by key and function; bounded, and empty in engines that use no cool-down.
#[derive(Default)]
pub(crate) struct Cooling(OnceLock<Recent>);

impl Cooling {
    const CAPACITY: u64 = 10_000;

    pub(crate) fn remember(
        &self,
        key: &Arc<str>,
        identity: u32,
        failed: &Failed,
        now: Instant,
        cooldown: Duration,
    ) {
        let recent = self.0.get_or_init(|| Cache::new(Self::CAPACITY));
        let failed = Failed { kind: FlightErrorKind::CoolingDown, ..failed.clone() };
        recent.insert((key.clone(), identity), (failed, far(now, cooldown)));
    }

    pub(crate) fn recall(&self, key: &Arc<str>, identity: u32, now: Instant) -> Option<Failed> {
        let recent = self.0.get()?;
        let key = (key.clone(), identity);
        let (failed, until) = recent.get(&key)?;
        if now < until {
            return Some(failed);
        }
        recent.invalidate(&key);
        None
    }
}

impl fmt::Debug for Cooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cooling").field("failures", &self.0.get().map_or(0, Cache::entry_count)).finish()
    }
}
