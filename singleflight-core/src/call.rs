//! One call of one function: the typed face of the engine, and what the attribute's output calls.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::{LeaseBackend, Medium};
use crate::control::{CallOutcome, Scope};
use crate::engine::{Request, Verdict};
use crate::entry::{Entry, Kind, Payload};
use crate::error::{FlightError, FlightErrorKind};
use crate::fill::{Leader, Run};
use crate::flight::{FlightId, Purpose};
use crate::flights::SingleFlight;
use crate::identity::{NOBODY, Place};
use crate::lease::Failed;
use crate::lookup::refreshes_early;
use crate::observe::{Count, SiteState};
use crate::policy::{LockTtl, Policy};
use crate::site::Site;
use crate::typed::Typed;

/// A call with everything the engine needs to know of it.
pub struct Call<'a, R> {
    typed: &'a dyn Typed<R>,
    site: &'static Site,
    place: Place,
    policy: &'a Policy,
    key: &'a str,
    flights: Option<&'a SingleFlight>,
    /// Whether nothing was there a moment ago.
    absent: AtomicBool,
}

/// What a call that found no fresh value is to do.
pub enum Entered<'a, R> {
    /// Return this.
    Answer(R),
    /// Return the function's default.
    Default,
    /// Run the body.
    Fill(Fill<'a, R>),
}

/// The right and duty to run the body.
pub struct Fill<'a, R> {
    pub(crate) typed: &'a dyn Typed<R>,
    /// `None` beside everything.
    pub(crate) leader: Option<Box<Leader>>,
}

impl<'a, R> Call<'a, R> {
    /// A call of `site` for `key`, on `flights` or else on the engine in force.
    #[must_use]
    pub fn new(
        typed: &'a dyn Typed<R>,
        site: &'static Site,
        place: Place,
        policy: &'a Policy,
        key: &'a str,
        flights: Option<&'a SingleFlight>,
    ) -> Self {
        Self { typed, site, place, policy, key, flights, absent: AtomicBool::new(false) }
    }

    /// The fresh value, if it can be had without waiting: the whole of a hit in process.
    #[must_use]
    pub fn peek(&self) -> Option<R> {
        if Scope::is_unset() {
            return match self.flights {
                Some(flights) => self.peek_in(flights),
                None => SingleFlight::with_default(|flights| self.peek_in(flights)),
            };
        }
        let scope = Scope::current();
        if scope.bypass || scope.refresh {
            return None;
        }
        let result = self.with_flights(&scope, |flights| self.peek_in(flights))?;
        scope.note(CallOutcome::Hit);
        Some(result)
    }

    fn peek_in(&self, flights: &SingleFlight) -> Option<R> {
        let engine = flights.engine();
        let value = self.typed.value();
        let entry = match engine.backend.medium() {
            Medium::Values => self.note(engine.backend.peek(self.key))?,
            Medium::Bytes if value.wire.is_none() => {
                self.note(LeaseBackend::peek(&**engine.local(), self.key))?
            }
            Medium::Bytes => engine.near.as_ref()?.peek(self.key)?,
            Medium::Nothing => return None,
        };
        let site = engine.sites.get(self.site.index(), self.site.name());
        let (version, beta) = site.hit_terms(self.policy);
        let kind = Kind::new(self.site.identity(self.place, (value.type_name)()), version);
        if !entry.is_fresh()
            || !kind.accepts(&entry.stamp.kind)
            || refreshes_early(beta, &entry, &engine.clock)
        {
            return None;
        }
        let Payload::Value(stored) = &entry.payload else { return None };
        let result = self.typed.give(&**stored)?;
        if entry.stamp.codec == 0 {
            site.hit()
        } else {
            site.near_hit()
        }
        Some(result)
    }

    /// Remembers that nothing was there, so that the flight need not look again. What comes in between is found under the
    /// lease: whoever asks for it is told of a fresh entry.
    fn note(&self, entry: Option<Entry>) -> Option<Entry> {
        if entry.is_none() {
            self.absent.store(true, Ordering::Relaxed);
        }
        entry
    }

    /// The policy in force, of which a function without a default can only do so much.
    fn policy_at(&self, site: &SiteState) -> Policy {
        let policy = site.policy(self.policy);
        if self.site.has_default() { policy } else { policy.without_default() }
    }

    /// The engine for this call: the one named by it, else the one in scope, else the process's.
    fn with_flights<T>(&self, scope: &Scope, f: impl FnOnce(&SingleFlight) -> T) -> T {
        match self.flights.or(scope.flights.as_ref()) {
            Some(flights) => f(flights),
            None => SingleFlight::with_default(f),
        }
    }

    /// The right to run the body with nothing looked up, stored or shared.
    ///
    /// What a function without a default does when told to take it, which only a mistake in the engine can bring about.
    #[must_use]
    pub fn alone(&self) -> Fill<'a, R> {
        Fill { typed: self.typed, leader: None }
    }

    /// Looks for a value, waits for someone else's, or takes on the fill.
    ///
    /// # Cancel safety
    /// Dropping it affects this caller alone.
    pub async fn enter(&self) -> Entered<'a, R> {
        // On the heap, so that an annotated function's future stays about as large as its body's.
        Box::pin(self.carry()).await
    }

    async fn carry(&self) -> Entered<'a, R> {
        let mut retry = false;
        loop {
            let Some(mut request) = self.request() else {
                return Entered::Fill(Fill { typed: self.typed, leader: None });
            };
            request.terms.retry_errors |= retry;
            let verdict = request.carry().await;
            if let Some(entered) = self.entered(&request, verdict) {
                return entered;
            }
            // It was told of a failure that its type cannot carry: from here on it tries for itself.
            retry = true;
        }
    }

    /// This call without its type; `None` if its body runs beside everything.
    fn request(&self) -> Option<Request> {
        let scope = Scope::current();
        if scope.bypass {
            scope.note(CallOutcome::Bypassed);
            return None;
        }
        let engine = self.with_flights(&scope, |flights| flights.engine().clone());
        if engine.backend.medium() == Medium::Nothing {
            scope.note(CallOutcome::Bypassed);
            return None;
        }
        let value = self.typed.value();
        let site = engine.sites.get(self.site.index(), self.site.name()).clone();
        let policy = self.policy_at(&site);
        let lease = match policy.lock() {
            LockTtl::Fixed(ttl) => ttl,
            LockTtl::Auto => engine.auto.ttl(site.times.p99()),
        };
        let terms = policy.terms(lease);
        let identity = self.site.identity(self.place, (value.type_name)());
        let id =
            FlightId { key: Arc::from(self.key), value: (value.type_id)(), identity, purpose: Purpose::Fill };
        if identity == NOBODY {
            scope.note(CallOutcome::Bypassed);
            return None;
        }
        let kind = Kind::new(identity, terms.version);
        let can_fail = self.typed.can_fail();
        let absent = self.absent.swap(false, Ordering::Relaxed);
        Some(Request { engine, id, kind, value, terms, site, scope, can_fail, absent })
    }

    /// What the engine said, in the function's own type; `None` if it cannot be said so, and the call begins again.
    fn entered(&self, request: &Request, verdict: Verdict) -> Option<Entered<'a, R>> {
        let (outcome, answer) = match verdict {
            Verdict::Fresh(value) => {
                request.site.hit();
                (CallOutcome::Hit, self.typed.hand(value)?)
            }
            Verdict::Stale(value) => {
                request.site.count(Count::Stale);
                (CallOutcome::Stale, self.typed.hand(value)?)
            }
            Verdict::Coalesced(value) => {
                request.site.count(Count::Follow);
                (CallOutcome::Coalesced, self.typed.hand(value)?)
            }
            Verdict::Failed(failed) => {
                let cooling = failed.kind == FlightErrorKind::CoolingDown;
                request.site.count(if cooling { Count::Cooling } else { Count::Shared });
                (CallOutcome::Coalesced, self.failed(request, &failed)?)
            }
            Verdict::Refused(error) => {
                request.site.count(Count::Refused);
                (CallOutcome::Failed, self.typed.fail(error)?)
            }
            Verdict::Default => {
                request.site.count(Count::Default);
                request.scope.note(CallOutcome::Default);
                return Some(Entered::Default);
            }
            Verdict::Lead(leader) => {
                return Some(Entered::Fill(Fill { typed: self.typed, leader: Some(leader) }));
            }
            Verdict::Bare => {
                request.scope.note(CallOutcome::Bypassed);
                return Some(Entered::Fill(Fill { typed: self.typed, leader: None }));
            }
        };
        request.scope.note(outcome);
        Some(Entered::Answer(answer))
    }

    /// Someone else's failure: a copy of the error itself, or a [`FlightError`] that carries its message.
    fn failed(&self, request: &Request, failed: &Failed) -> Option<R> {
        if let Some(error) = &failed.failure.error
            && let Some(result) = self.typed.share(&**error)
        {
            return Some(result);
        }
        let error = FlightError::with_message(failed.kind, &request.id.key, &failed.failure.message);
        self.typed.fail(error)
    }
}

impl<R> Fill<'_, R> {
    /// Runs the body, stores what it gives and answers all who wait.
    ///
    /// # Cancel safety
    /// Dropping it drops the body; the lease goes to one of those who wait, which runs its own.
    pub async fn run<F: Future<Output = R>>(self, body: Pin<&mut F>) -> R {
        Run::new(self.typed, body, self.leader).await
    }
}

impl<R> fmt::Debug for Call<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("site", &self.site).field("key", &self.key).finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for Entered<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer(_) => "Answer(..)",
            Self::Default => "Default",
            Self::Fill(_) => "Fill(..)",
        })
    }
}

impl<R> fmt::Debug for Fill<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fill").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::kind::{ByFlightError, CanMake, DisplayWords, IsResult, Never, plan, portable};

    #[tokio::test]
    async fn what_comes_between_the_look_and_the_flight_is_found() {
        static SITE: Site = Site::named("late");
        let flights = SingleFlight::in_memory();
        let policy = Policy::new().ttl(Duration::from_secs(30));
        let kind = IsResult::<u8, FlightError>::new();
        let plan = plan(kind, portable(kind), Never, ByFlightError, CanMake, DisplayWords);
        let call = Call::new(&plan, &SITE, Place::named(SITE.name()), &policy, "k", Some(&flights));
        assert!(call.peek().is_none());
        let other = flights.flight("k").site(&SITE).policy(policy).run(async || Ok::<u8, FlightError>(7));
        assert_eq!(other.await.unwrap(), 7);
        assert!(matches!(call.enter().await, Entered::Answer(Ok(7))));
        assert_eq!(flights.statistics().total.fills, 1);
    }
}
