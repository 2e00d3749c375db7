//! What an engine counts, per function, and whom it tells.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::fill_times::FillTimes;
pub use crate::near::NearFigures;
use crate::policy::Policy;
use crate::sync::{Mutex, lock};
pub use crate::top_keys::TopKey;

/// Hears of what happens off the hit path. Called inline: must be quick and must not block.
pub trait Observer: Send + Sync + fmt::Debug + 'static {
    /// Something happened to a call of the function labelled `site` for `key`.
    fn event(&self, site: &'static str, key: &str, event: &Event<'_>);
}

/// What an [`Observer`] hears of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A body ended; the time it took, and whether it gave a value.
    Filled {
        /// How long the body ran.
        took: Duration,
        /// Whether it gave a value.
        ok: bool,
    },
    /// A waiter became leader because the lease ended unpublished, or the leader went away.
    TakenOver,
    /// The lease was lost, or a publish refused: the value went to its own caller alone.
    Fenced,
    /// The same because the key was invalidated in this process while it was loaded. An invalidation by another process
    /// cannot be told from a lost lease, and is [`Fenced`](Self::Fenced).
    Outdated,
    /// The backend could not do a step; the process goes on by itself.
    Degraded(&'a crate::error::BackendError),
    /// Stored bytes could not be decoded; they count as missing and are replaced.
    Undecodable(&'a str),
    /// A value could not be encoded; the caller has it, the store does not.
    Unencodable(&'a str),
    /// The entry belongs to another function, or another type, that uses the same key. Told once per function: the two
    /// keep replacing each other's values. Give their keys different templates, or, if they mean the same value, both
    /// the same `name`.
    Foreign,
    /// The fixed lease TTL is shorter than the fills take, so that each needs renewals to be kept. Told once per
    /// function.
    LeaseShort {
        /// The recent p99 of the fills.
        p99: Duration,
        /// The lease TTL to write instead.
        write: Duration,
    },
    /// The wait budget ran out.
    TimedOut,
    /// A call was answered with a stale copy.
    Stale {
        /// How long ago its soft TTL ended, by the policy in force.
        age: Duration,
    },
}

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident $field:ident,)*) => {
        /// One thing that is counted; the index of its counter.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Count { $($variant,)* }

        const COUNTS: usize = [$(Count::$variant,)*].len();

        /// The figures of one function, or of all.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Figures {
            /// Calls answered with a fresh stored value.
            pub hits: u64,
            /// Of these, calls answered with a copy in front of the backend.
            pub near_hits: u64,
            $($(#[$doc])* pub $field: u64,)*
            /// Half of the recent fills took no longer; the largest of several functions.
            pub fill_p50: Duration,
            /// 99 of 100 recent fills took no longer; the largest of several functions.
            pub fill_p99: Duration,
            /// The lease TTL of the last load; the largest of several functions.
            pub lease_ttl: Duration,
        }

        impl Figures {
            fn of(site: &SiteState) -> Self {
                Self {
                    hits: site.hits.get() + site.near_hits.get(),
                    near_hits: site.near_hits.get(),
                    $($field: site.get(Count::$variant),)*
                    fill_p50: site.times.quantile(0.5).unwrap_or_default(),
                    fill_p99: site.times.quantile(0.99).unwrap_or_default(),
                    lease_ttl: Duration::from_micros(site.lease.load(Ordering::Relaxed)),
                }
            }

            /// Adds the figures of another function.
            pub fn add(&mut self, other: &Self) {
                self.hits += other.hits;
                self.near_hits += other.near_hits;
                $(self.$field += other.$field;)*
                self.fill_p50 = self.fill_p50.max(other.fill_p50);
                self.fill_p99 = self.fill_p99.max(other.fill_p99);
                self.lease_ttl = self.lease_ttl.max(other.lease_ttl);
            }
        }
    };
}

counters! {
    /// Calls answered with a stale copy.
    Stale stale,
    /// Bodies that ended with a value or an error.
    Fill fills,
    /// Bodies that failed.
    Error errors,
    /// Bodies that panicked.
    Panic panics,
    /// Calls answered by another caller's load in this process.
    Follow follows,
    /// Flights that waited for another process.
    Wait waits,
    /// Wait budgets that ran out.
    Timeout timeouts,
    /// Leases asked for and granted.
    Granted acquires_granted,
    /// Leases asked for and held by someone else.
    Held acquires_held,
    /// Leases asked for in vain because the backend could not answer.
    AcquireFailed acquires_failed,
    /// Flights taken over from a leader that ended without a value, or that stopped waiting for another process.
    Takeover takeovers,
    /// Leases lost: publishes refused, and loads that went on past their lease or `max_hold`.
    Fenced fenced,
    /// Loads whose publish was refused, or that ran without the lease.
    Duplicate duplicate_loads,
    /// Calls answered with another caller's failure.
    Shared failures_shared,
    /// Calls answered with a failure that is cooling down.
    Cooling cooldown_answers,
    /// Calls that failed because the policy says to: someone else was loading, or the wait budget ran out.
    Refused refusals,
    /// Calls answered with the function's default.
    Default defaults,
    /// Calls that loaded without the backend because it could not be reached.
    Degraded degraded,
    /// Renewals of leases.
    Renewal renewals,
    /// Stored values found that are another function's, which uses the same key: they count as missing.
    Foreign foreign,
}

/// The state that an engine keeps for one function.
pub(crate) struct SiteState {
    pub(crate) name: &'static str,
    hits: Sharded,
    near_hits: Sharded,
    counts: [AtomicU64; COUNTS],
    /// Whether `policy` is set; the only thing a hit reads.
    overridden: AtomicBool,
    policy: Mutex<Option<Policy>>,
    pub(crate) times: FillTimes,
    /// The lease TTL of the last load, in microseconds.
    lease: AtomicU64,
    /// What has been warned about.
    warned: [AtomicBool; 2],
}

/// What is told once per function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Warning {
    /// Another function uses the same keys.
    Foreign,
    /// The lease TTL is shorter than the fills.
    LeaseShort,
}

impl SiteState {
    fn new(name: &'static str) -> Self {
        let counts = [const { AtomicU64::new(0) }; COUNTS];
        Self {
            name,
            hits: Sharded::default(),
            near_hits: Sharded::default(),
            counts,
            overridden: AtomicBool::new(false),
            policy: Mutex::new(None),
            times: FillTimes::new(),
            lease: AtomicU64::new(0),
            warned: [const { AtomicBool::new(false) }; 2],
        }
    }

    pub(crate) fn hit(&self) {
        self.hits.add();
    }

    pub(crate) fn near_hit(&self) {
        self.near_hits.add();
    }

    pub(crate) fn count(&self, what: Count) {
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, what: Count) -> u64 {
        self.counts[what as usize].load(Ordering::Relaxed)
    }

    /// Whether this is the first time to warn of it.
    pub(crate) fn warns(&self, of: Warning) -> bool {
        let warned = &self.warned[of as usize];
        !warned.load(Ordering::Relaxed) && !warned.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn set_lease(&self, ttl: Duration) {
        self.lease.store(u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The policy in force: the override, or the function's own.
    pub(crate) fn policy(&self, own: &Policy) -> Policy {
        if !self.overridden.load(Ordering::Acquire) {
            return *own;
        }
        lock(&self.policy).unwrap_or(*own)
    }

    /// What a hit needs of the policy in force: schema version and XFetch's β.
    pub(crate) fn hit_terms(&self, own: &Policy) -> (u16, f64) {
        if !self.overridden.load(Ordering::Acquire) {
            return (own.schema(), own.beta());
        }
        let policy = self.policy(own);
        (policy.schema(), policy.beta())
    }

    fn override_with(&self, policy: Option<Policy>) {
        *lock(&self.policy) = policy;
        self.overridden.store(policy.is_some(), Ordering::Release);
    }
}

/// A counter that several threads can bump without sharing a cache line.
#[derive(Default)]
struct Sharded([Padded; 8]);

#[derive(Default)]
#[repr(align(64))]
struct Padded(AtomicU64);

impl Sharded {
    fn add(&self) {
        thread_local! { static SHARD: Cell<usize> = const { Cell::new(usize::MAX) }; }
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let shard = SHARD.get();
        let shard = if shard == usize::MAX {
            let next = NEXT.fetch_add(1, Ordering::Relaxed) % 8;
            SHARD.set(next);
            next
        } else {
            shard
        };
        self.0[shard].0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.iter().map(|shard| shard.0.load(Ordering::Relaxed)).sum()
    }
}

type Chunk = Box<[OnceLock<Arc<SiteState>>]>;

/// The functions an engine has met, by site index: found without a lock, never moved.
pub(crate) struct Sites {
    /// Chunk `n` holds `8 << n` sites.
    chunks: [OnceLock<Chunk>; Self::CHUNKS],
    overrides: Mutex<Vec<(Box<str>, Policy)>>,
}

impl Sites {
    const CHUNKS: usize = 24;

    pub(crate) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; Self::CHUNKS], overrides: Mutex::default() }
    }

    /// The state of the site with this index.
    pub(crate) fn get(&self, index: usize, name: &'static str) -> &Arc<SiteState> {
        let at = index + 8;
        let chunk = (at.ilog2() as usize - 3).min(Self::CHUNKS - 1);
        let sites =
            self.chunks[chunk].get_or_init(|| (0..8_usize << chunk).map(|_| OnceLock::new()).collect());
        sites[at - (8 << chunk)].get_or_init(|| {
            let site = SiteState::new(name);
            let overrides = lock(&self.overrides);
            site.override_with(overrides.iter().find(|(of, _)| names(of, name)).map(|(_, policy)| *policy));
            Arc::new(site)
        })
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<SiteState>> {
        self.chunks.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// Sets or lifts the override for the functions that `name` names, met already or not.
    pub(crate) fn override_policy(&self, name: &str, policy: Option<Policy>) {
        let mut overrides = lock(&self.overrides);
        overrides.retain(|(of, _)| **of != *name);
        overrides.extend(policy.map(|policy| (name.into(), policy)));
        drop(overrides);
        self.iter().filter(|site| names(name, site.name)).for_each(|site| site.override_with(policy));
    }

    /// The figures of all functions met, by label.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        for site in self.iter() {
            let figures = Figures::of(site);
            statistics.total.add(&figures);
            match statistics.functions.iter_mut().find(|(name, _)| *name == site.name) {
                Some((_, sum)) => sum.add(&figures),
                None => statistics.functions.push((site.name, figures)),
            }
        }
        statistics
    }
}

/// A snapshot of an engine's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// All functions together.
    pub total: Figures,
    /// Each function's, by label.
    pub functions: Vec<(&'static str, Figures)>,
    /// The near cache's, where there is one.
    pub near: Option<NearFigures>,
    /// The keys that were loaded most, most first, where they are counted.
    pub top_keys: Vec<TopKey>,
}

impl Statistics {
    /// The figures of the functions whose label is `name` or ends in `::name`; all zero where none was called that is.
    #[must_use]
    pub fn of(&self, name: &str) -> Figures {
        let mut sum = Figures::default();
        for (label, figures) in &self.functions {
            if names(name, label) {
                sum.add(figures);
            }
        }
        sum
    }
}

/// Whether `name` names the function labelled `label`: it is the label, or its end behind a `::`.
pub(crate) fn names(name: &str, label: &str) -> bool {
    label.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

impl fmt::Debug for Sites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|site| site.name)).finish()
    }
}

impl fmt::Debug for SiteState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteState").field("name", &self.name).field("figures", &Figures::of(self)).finish()
    }
}
