//! Leases as the engine holds them: how far a fill has got, keeping the lease alive, and giving it back.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::{LeaseBackend, Note, Renewed, SharedValue, Token};
use crate::clock::{Clock, far};
use crate::error::FlightErrorKind;
use crate::flight::{Crew, FlightId, Watchdog};
use crate::policy::Terms;
use crate::typed::Failure;

/// A lease, or a question for one.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    /// Where it was granted: the backend, or this process's own store.
    pub(crate) store: Arc<dyn LeaseBackend>,
    /// The key as that store knows it.
    pub(crate) key: Arc<str>,
    pub(crate) token: Token,
    pub(crate) ttl: Duration,
    /// Values are kept for a moment only: the backend is away, or holds a newer version.
    pub(crate) brief: bool,
}

impl Lease {
    /// Gives the lease back without a value. Never blocks.
    pub(crate) fn abandon(&self, failure: Option<Arc<str>>, cooldown: Duration) {
        self.store.post(Note::Abandon { key: self.key.clone(), token: self.token, failure, cooldown });
    }

    /// Renews every third of the TTL, until the lease is lost or `ends`; the answer is why it ended.
    ///
    /// The last renewal lets it end exactly at `ends`. An error is not a loss: it is tried again until the TTL that
    /// was last confirmed is over.
    pub(crate) async fn keep(self, clock: Clock, ends: Instant, mut renewed: impl FnMut()) -> LeaseEnd {
        let mut expires = far(clock.now(), self.ttl);
        let mut pause = self.ttl / 3;
        loop {
            clock.sleep(pause).await;
            let now = clock.now();
            if now >= ends {
                return LeaseEnd::HeldTooLong;
            }
            let ttl = self.ttl.min(ends - now);
            match self.store.renew(&self.key, self.token, ttl).await {
                Ok(Renewed::Extended) => {
                    renewed();
                    // Counted from before the request: the store's TTL can only end later than we think.
                    (expires, pause) = (far(now, ttl), self.ttl / 3);
                }
                Ok(Renewed::Lost) => return LeaseEnd::Lost,
                Err(_) if clock.now() >= expires => return LeaseEnd::Lost,
                Err(_) => pause = self.ttl / 10,
            }
        }
    }
}

/// Why a lease is no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseEnd {
    /// Expired, or voided by an invalidate.
    Lost,
    /// `max_hold` is over.
    HeldTooLong,
    /// There was none.
    Nothing,
}

/// How far a fill has got. It lives in the flight, so a successor goes on from here.
#[derive(Clone, Default)]
pub(crate) enum Stage {
    /// Nothing is owned.
    #[default]
    Open,
    /// The lease was asked for and the answer is not known: to be taken back by its token.
    Asked(Lease),
    /// The lease is owned.
    Granted(Lease),
    /// The value is there and its publish may have been done.
    Filled(Lease, Filled),
}

impl Stage {
    /// The lease that is owned.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Granted(lease) | Self::Filled(lease, _) => Some(lease),
            Self::Open | Self::Asked(_) => None,
        }
    }
}

/// A value on its way to the store.
#[derive(Clone)]
pub(crate) struct Filled {
    pub(crate) value: SharedValue,
    pub(crate) negative: bool,
    pub(crate) took: Duration,
}

/// What a flight ends with.
#[derive(Clone)]
pub(crate) enum Outcome {
    /// A value loaded or found fresh.
    Value(SharedValue),
    /// A stale copy, to be refreshed by whoever comes first.
    Stale(Found),
    /// The load failed.
    Failed(Failed),
}

/// A stored value as one caller found it.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) value: SharedValue,
    /// The grant that stored it.
    pub(crate) grant: Token,
    /// When it is past its hard TTL, and no longer to be given to anyone.
    pub(crate) gone: Instant,
    /// Whether it is past its soft TTL, rather than to be refreshed early.
    pub(crate) stale: bool,
}

impl Found {
    /// How long ago the soft TTL ended, as the policy has it.
    pub(crate) fn age(&self, terms: &Terms, now: Instant) -> Duration {
        let grace = terms.ttl.saturating_sub(terms.soft_ttl);
        grace.saturating_sub(self.gone.saturating_duration_since(now))
    }
}

/// A load that failed, for those who waited for it.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) kind: FlightErrorKind,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("Open"),
            Self::Asked(lease) => f.debug_tuple("Asked").field(lease).finish(),
            Self::Granted(lease) => f.debug_tuple("Granted").field(lease).finish(),
            Self::Filled(lease, _) => f.debug_tuple("Filled").field(lease).finish_non_exhaustive(),
        }
    }
}

/// The engine's side of the flight table.
#[derive(Debug)]
pub(crate) struct Keeper {
    clock: Clock,
}

impl Keeper {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock }
    }
}

impl Crew for Keeper {
    type Stage = Stage;
    type Outcome = Outcome;

    fn orphaned(&self, _id: &FlightId, stage: Stage) {
        match stage {
            Stage::Open => {}
            // A publish that was done answers "not owned" to this; one that was not frees the key.
            Stage::Asked(lease) | Stage::Granted(lease) | Stage::Filled(lease, _) => {
                lease.abandon(None, Duration::ZERO);
            }
        }
    }

    fn deposed(&self, _id: &FlightId, stage: Stage) -> Stage {
        match stage {
            // A value that is there needs no second load: the successor finishes the publish.
            Stage::Filled(..) => stage,
            // The deposed leader still has the token, so the successor must not go on with it.
            Stage::Asked(lease) | Stage::Granted(lease) => {
                lease.abandon(None, Duration::ZERO);
                Stage::Open
            }
            Stage::Open => Stage::Open,
        }
    }

    fn watch(&self, watchdog: Watchdog<Self>) {
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(watchdog.run(self.clock.clone()))),
            Err(_) => watchdog.give_up(),
        }
    }
}
