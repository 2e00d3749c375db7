//! What one side of a race is run with.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use singleflight_core::{LockTtl, Losers, OnTimeout, Policy};

/// A side's setting, checked and with every default filled in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) callers: u32,
    pub(crate) processes: u32,
    pub(crate) keys: u32,
    pub(crate) arrivals_ms: u32,
    pub(crate) load_ms: u32,
    /// Percent.
    pub(crate) load_spread: u32,
    /// How many queries the source runs at once; more queue.
    pub(crate) connections: u32,
    pub(crate) lock_ttl_ms: Option<u32>,
    pub(crate) soft_ttl_ms: u32,
    pub(crate) ttl_ms: u32,
    pub(crate) entry: EntryAtStart,
    pub(crate) losers: LosersChoice,
    pub(crate) wait_ms: Option<u32>,
    pub(crate) on_timeout: TimeoutChoice,
    pub(crate) spawn: bool,
    pub(crate) early: f64,
    pub(crate) backend: BackendChoice,
    pub(crate) fault: Fault,
}

/// One of a few words, as the page sends and shows it.
pub(crate) trait Choice: Copy + Serialize + 'static {
    /// The words, with what each is called on the page.
    const WORDS: &'static [(Self, &'static str, &'static str)];
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal $title:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }

        impl Choice for $name {
            const WORDS: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $word, $title),)*];
        }
    )*};
}

choices! {
    /// What is stored when the race begins.
    EntryAtStart {
        None "none" "nothing",
        Fresh "fresh" "a fresh entry",
        Stale "stale" "a stale entry",
    }
    /// What callers do that do not load.
    LosersChoice {
        Stale "stale" "take a stale copy, else wait",
        Wait "wait" "wait",
        Default "default" "take a stale copy, else the default",
        Fail "fail" "take a stale copy, else fail",
    }
    /// What callers do whose wait budget has run out.
    TimeoutChoice {
        Load "load" "one load for each process",
        Default "default" "take the default",
        Fail "fail" "fail",
    }
    /// Where values and leases live.
    BackendChoice {
        Memory "memory" "memory, each process its own",
        Shared "shared" "one store for all processes",
        Redis "redis" "Redis, real processes",
        None "none" "none: nothing is kept or shared",
    }
    /// What goes wrong.
    Fault {
        None "none" "nothing",
        LeaderKilled "leader_killed" "the leader is killed",
        LeaderPaused "leader_paused" "the leader is paused past its lease",
        FailingLoad "failing_load" "the first load fails",
        Invalidate "invalidate" "the key is invalidated during the load",
        BackendStopped "backend_stopped" "the store goes away for a while",
        LateQuestion "late_question" "other processes ask for the lease late",
        NoRecheck "no_recheck" "they ask late, and the store does not look again",
        PlainDel "plain_del" "the leader is paused, then releases by plain DEL",
        NoRenewal "no_renewal" "leases are not renewed",
    }
}

impl Fault {
    /// Whether the teaching backend is needed for it.
    pub(crate) const fn is_taught(self) -> bool {
        matches!(self, Self::LateQuestion | Self::NoRecheck | Self::PlainDel | Self::NoRenewal)
    }

    /// Whether it comes about in the middle of the first load.
    pub(crate) const fn is_midway(self) -> bool {
        matches!(
            self,
            Self::LeaderKilled
                | Self::LeaderPaused
                | Self::PlainDel
                | Self::Invalidate
                | Self::BackendStopped
        )
    }
}

impl Setting {
    pub(crate) fn soft_ttl(&self) -> Duration {
        ms(self.soft_ttl_ms)
    }

    pub(crate) fn ttl(&self) -> Duration {
        ms(self.ttl_ms)
    }

    /// How long what is stored at the start is fresh, and when it is gone.
    pub(crate) fn left_at_start(&self) -> Option<(Duration, Duration)> {
        match self.entry {
            EntryAtStart::None => None,
            EntryAtStart::Fresh => Some((self.soft_ttl(), self.ttl())),
            EntryAtStart::Stale => Some((Duration::ZERO, self.ttl().saturating_sub(self.soft_ttl()))),
        }
    }

    /// The same as the library takes it.
    pub(crate) fn policy(&self) -> Policy {
        let losers = match self.losers {
            LosersChoice::Stale => Losers::Stale,
            LosersChoice::Wait => Losers::Wait,
            LosersChoice::Default => Losers::Default,
            LosersChoice::Fail => Losers::Fail,
        };
        let on_timeout = match self.on_timeout {
            TimeoutChoice::Load => OnTimeout::Load,
            TimeoutChoice::Default => OnTimeout::Default,
            TimeoutChoice::Fail => OnTimeout::Fail,
        };
        let lock_ttl = self.lock_ttl_ms.map_or(LockTtl::Auto, |ttl| LockTtl::Fixed(ms(ttl)));
        let policy = Policy::new().ttl(self.ttl()).soft_ttl(self.soft_ttl()).lock_ttl(lock_ttl);
        let policy = policy.losers(losers).on_timeout(on_timeout).early(self.early).jitter(0.0);
        match self.wait_ms {
            Some(wait) => policy.wait(ms(wait)),
            None => policy,
        }
    }
}

fn ms(n: u32) -> Duration {
    Duration::from_millis(u64::from(n))
}
