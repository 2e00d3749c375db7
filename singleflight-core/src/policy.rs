//! How a function's calls are answered: [`Policy`], built in a `const` and shared by many functions.

use std::time::Duration;

use crate::error::PolicyError;

/// The defaults shared by many functions; an option written on the attribute wins over it.
///
/// ```
/// use singleflight_core::{Losers, Policy};
/// use std::time::Duration;
///
/// const HOT: Policy = Policy::new()
///     .ttl(Duration::from_secs(60))
///     .soft_ttl(Duration::from_secs(30))
///     .losers(Losers::Stale)
///     .early(1.0);
/// assert!(HOT.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Policy {
    ttl: Option<Duration>,
    soft_ttl: Option<Duration>,
    negative_ttl: Option<Duration>,
    lock_ttl: LockTtl,
    losers: Losers,
    version: u16,
    retry_errors: bool,
    max_hold: Option<Duration>,
    wait: Option<Duration>,
    on_timeout: OnTimeout,
    early: f64,
    jitter: f64,
    error_cooldown: Duration,
}

/// How long a lease lasts between two renewals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockTtl {
    /// From the function's own recent fill times.
    Auto,
    /// Always this long.
    Fixed(Duration),
}

/// What a caller without the lease does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Losers {
    /// Take a stale copy if there is one, else wait.
    Stale,
    /// Wait even where there is a stale copy.
    Wait,
    /// Take a stale copy if there is one, else the function's default.
    Default,
    /// Take a stale copy if there is one, else fail with [`FlightError`](crate::FlightError).
    Fail,
}

/// What happens when the wait budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnTimeout {
    /// Load without the lease: one such load per key and process, shared by all whose budget ran out. One that outlasts
    /// `max_hold` is given up on, as every load is, and the next one begins beside it.
    Load,
    /// Take the function's default.
    Default,
    /// Fail with [`FlightError`](crate::FlightError).
    Fail,
}

/// No TTL may be longer than this: ten years.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const SHORTEST: Duration = Duration::from_millis(1);

impl Policy {
    /// The defaults; `ttl` is still to be given, here or on the attribute.
    pub const fn new() -> Self {
        Self {
            ttl: None,
            soft_ttl: None,
            negative_ttl: None,
            lock_ttl: LockTtl::Auto,
            losers: Losers::Stale,
            version: 0,
            retry_errors: false,
            max_hold: None,
            wait: None,
            on_timeout: OnTimeout::Load,
            early: 0.0,
            jitter: 0.1,
            error_cooldown: Duration::ZERO,
        }
    }

    /// The hard TTL: after it the value is gone. Needed.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// The soft TTL: from here to the hard TTL the value is stale but servable. Default: the hard TTL.
    pub const fn soft_ttl(mut self, soft_ttl: Duration) -> Self {
        self.soft_ttl = Some(soft_ttl);
        self
    }

    /// The hard TTL of `None` and `Ok(None)`. Default: the hard TTL.
    pub const fn negative_ttl(mut self, negative_ttl: Duration) -> Self {
        self.negative_ttl = Some(negative_ttl);
        self
    }

    /// The lease TTL. Default: [`LockTtl::Auto`].
    pub const fn lock_ttl(mut self, lock_ttl: LockTtl) -> Self {
        self.lock_ttl = lock_ttl;
        self
    }

    /// What callers without the lease do. Default: [`Losers::Stale`].
    pub const fn losers(mut self, losers: Losers) -> Self {
        self.losers = losers;
        self
    }

    /// The schema version of the value; a higher one replaces a lower one. Default: 0.
    pub const fn version(mut self, version: u16) -> Self {
        self.version = version;
        self
    }

    /// Whether each caller that waited on a failed load tries in turn instead of sharing the error. Default: no.
    pub const fn retry_errors(mut self, retry: bool) -> Self {
        self.retry_errors = retry;
        self
    }

    /// The longest time one fill keeps its lease; then one caller in the fleet takes over.
    /// Default: ten lease TTLs, at least 30 s.
    pub const fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// The longest time a caller waits for others. Default: `max_hold` and one lease TTL, so that a live leader never
    /// causes a second load.
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// What happens when the wait budget is used up and there is no stale copy. Default: [`OnTimeout::Load`].
    pub const fn on_timeout(mut self, on_timeout: OnTimeout) -> Self {
        self.on_timeout = on_timeout;
        self
    }

    /// XFetch's β: refresh before the soft TTL with a probability that grows with the measured fill time. 0 is off, 1
    /// the paper's choice ([Vattani, Chierichetti, Lowenstein: *Optimal Probabilistic Cache Stampede
    /// Prevention*](https://www.vldb.org/pvldb/vol8/p886-vattani.pdf)). Default: 0.
    pub const fn early(mut self, beta: f64) -> Self {
        self.early = beta;
        self
    }

    /// The largest part (0 to 1) by which TTLs are shortened at random, so that keys filled together do not expire
    /// together. Default: 0.1.
    pub const fn jitter(mut self, part: f64) -> Self {
        self.jitter = part;
        self
    }

    /// How long new arrivals, in every process, share a failure instead of loading. Default: zero. Where errors are
    /// retried each caller tries for itself, and this has no effect.
    pub const fn error_cooldown(mut self, cooldown: Duration) -> Self {
        self.error_cooldown = cooldown;
        self
    }

    /// Whether the values make sense.
    ///
    /// # Errors
    /// Says which value does not, and what it may be.
    pub const fn check(&self) -> Result<(), PolicyError> {
        let Some(ttl) = self.ttl else {
            return Err(PolicyError::new("`ttl` is missing: write how long a value may be served"));
        };
        if !in_range(ttl) {
            return Err(PolicyError::new("`ttl` must be at least 1 ms and at most 10 years"));
        }
        if let Some(soft) = self.soft_ttl {
            if !in_range(soft) {
                return Err(PolicyError::new("`soft_ttl` must be at least 1 ms and at most 10 years"));
            }
            if soft.as_nanos() > ttl.as_nanos() {
                return Err(PolicyError::new("`soft_ttl` must not be longer than `ttl`"));
            }
        }
        if let Some(negative) = self.negative_ttl
            && !in_range(negative)
        {
            return Err(PolicyError::new("`negative_ttl` must be at least 1 ms and at most 10 years"));
        }
        if let LockTtl::Fixed(lock) = self.lock_ttl {
            if !in_range(lock) {
                return Err(PolicyError::new("`lock_ttl_ms` must be at least 1 ms and at most 10 years"));
            }
            if let Some(hold) = self.max_hold
                && hold.as_nanos() < lock.as_nanos()
            {
                return Err(PolicyError::new("`max_hold` must not be shorter than the lease TTL"));
            }
        }
        self.check_rest()
    }

    const fn check_rest(&self) -> Result<(), PolicyError> {
        if let Some(hold) = self.max_hold
            && !in_range(hold)
        {
            return Err(PolicyError::new("`max_hold` must be at least 1 ms and at most 10 years"));
        }
        if let Some(wait) = self.wait
            && wait.as_nanos() > LONGEST.as_nanos()
        {
            return Err(PolicyError::new("`wait` must be at most 10 years"));
        }
        if self.error_cooldown.as_nanos() > LONGEST.as_nanos() {
            return Err(PolicyError::new("`error_cooldown` must be at most 10 years"));
        }
        if !(self.early >= 0.0 && self.early <= 1000.0) {
            return Err(PolicyError::new(
                "`early` must be between 0 (off) and 1000; 1.0 is the usual choice",
            ));
        }
        if !(self.jitter >= 0.0 && self.jitter <= 1.0) {
            return Err(PolicyError::new("`jitter` must be between 0 (off) and 1"));
        }
        Ok(())
    }

    /// Whether some caller may be told to fail although no load failed.
    #[must_use]
    pub const fn may_fail(&self) -> bool {
        matches!(self.losers, Losers::Fail) || matches!(self.on_timeout, OnTimeout::Fail)
    }

    /// Whether each caller that waited on a failed load tries in turn.
    #[must_use]
    pub const fn retries_errors(&self) -> bool {
        self.retry_errors
    }

    /// Whether some caller may be told to take the default.
    #[must_use]
    pub const fn may_default(&self) -> bool {
        matches!(self.losers, Losers::Default) || matches!(self.on_timeout, OnTimeout::Default)
    }

    /// The same for a function that has no default: wait instead of taking it, load instead of taking it.
    pub(crate) const fn without_default(mut self) -> Self {
        if matches!(self.losers, Losers::Default) {
            self.losers = Losers::Stale;
        }
        if matches!(self.on_timeout, OnTimeout::Default) {
            self.on_timeout = OnTimeout::Load;
        }
        self
    }

    /// The values with every default filled in; `lease` is the lease TTL in force.
    pub(crate) fn terms(&self, lease: Duration) -> Terms {
        let ttl = self.ttl.unwrap_or(LONGEST);
        let max_hold = self.max_hold.unwrap_or_else(|| (lease * 10).max(Duration::from_secs(30))).max(lease);
        Terms {
            ttl,
            soft_ttl: self.soft_ttl.unwrap_or(ttl).min(ttl),
            negative_ttl: self.negative_ttl.unwrap_or(ttl),
            lease,
            lease_is_fixed: matches!(self.lock_ttl, LockTtl::Fixed(_)),
            max_hold,
            wait: self.wait.unwrap_or(max_hold + lease),
            losers: self.losers,
            on_timeout: self.on_timeout,
            version: self.version,
            retry_errors: self.retry_errors,
            early: self.early,
            jitter: self.jitter,
            error_cooldown: self.error_cooldown,
        }
    }

    pub(crate) const fn lock(&self) -> LockTtl {
        self.lock_ttl
    }

    pub(crate) const fn schema(&self) -> u16 {
        self.version
    }

    pub(crate) const fn beta(&self) -> f64 {
        self.early
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

/// A [`Policy`] with nothing left open, for one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) ttl: Duration,
    pub(crate) soft_ttl: Duration,
    pub(crate) negative_ttl: Duration,
    pub(crate) lease: Duration,
    pub(crate) lease_is_fixed: bool,
    pub(crate) max_hold: Duration,
    pub(crate) wait: Duration,
    pub(crate) losers: Losers,
    pub(crate) on_timeout: OnTimeout,
    pub(crate) version: u16,
    pub(crate) retry_errors: bool,
    pub(crate) early: f64,
    pub(crate) jitter: f64,
    pub(crate) error_cooldown: Duration,
}

const fn in_range(d: Duration) -> bool {
    d.as_nanos() >= SHORTEST.as_nanos() && d.as_nanos() <= LONGEST.as_nanos()
}
