//! The order of the stages: look up, join a flight, acquire the lease, fill or wait.
//!
//! Nothing here knows a value's type; [`call`](crate::call) is the typed face.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::acquire::Approach;
use crate::backend::{LeaseBackend, MemoryBackend, MemoryBuilder, SharedValue};
use crate::clock::{Clock, far};
use crate::codec::Codec;
use crate::control::Scope;
use crate::cooling::Cooling;
use crate::entry::Kind;
use crate::error::{BackendError, FlightError, FlightErrorKind};
use crate::fill::Leader;
use crate::fill_times::AutoLease;
use crate::flight::{
    Blocked, Flight, FlightId, FlightTable, Follow, Followed, Joined, Lead, Manner, Purpose,
};
use crate::lease::{Failed, Found, Keeper, Outcome};
use crate::link::Link;
use crate::lookup::Looked;
use crate::near::Near;
use crate::observe::{Count, Event, SiteState, Sites, Statistics};
use crate::policy::{Losers, OnTimeout, Terms};
use crate::route::Route;
use crate::tell::Ears;
use crate::top_keys::TopKeys;
use crate::typed::ValueOps;

/// A flight of this engine.
pub(crate) type Crewed = Arc<Flight<Keeper>>;

/// Everything that calls share.
pub(crate) struct Engine {
    pub(crate) backend: Arc<dyn LeaseBackend>,
    /// How this process keeps values.
    pub(crate) memory: MemoryBuilder,
    /// Values that stay in this process: those of `local` functions, and for a moment those loaded while the backend
    /// is away. Made when first needed: most engines never do.
    pub(crate) local: OnceLock<Arc<MemoryBackend>>,
    /// Copies of what the backend keeps.
    pub(crate) near: Option<Arc<Near>>,
    pub(crate) own_link: Link,
    pub(crate) namespace: Box<str>,
    pub(crate) codec: Codec,
    pub(crate) clock: Clock,
    pub(crate) ears: Ears,
    pub(crate) top_keys: Option<TopKeys>,
    #[cfg(feature = "metrics")]
    pub(crate) reporter: Option<crate::metrics::Reporter>,
    pub(crate) sites: Sites,
    pub(crate) table: Arc<FlightTable<Keeper>>,
    pub(crate) jitter: bool,
    pub(crate) hold: Duration,
    pub(crate) auto: AutoLease,
    pub(crate) cooling: Cooling,
}

/// One call, without its type.
pub(crate) struct Request {
    pub(crate) engine: Arc<Engine>,
    pub(crate) id: FlightId,
    pub(crate) kind: Kind,
    pub(crate) value: ValueOps,
    pub(crate) terms: Terms,
    pub(crate) site: Arc<SiteState>,
    pub(crate) scope: Scope,
    /// Whether the result can carry a [`FlightError`].
    pub(crate) can_fail: bool,
    /// Whether this process's store was looked in just now, and had nothing.
    pub(crate) absent: bool,
}

/// What becomes of a call.
pub(crate) enum Verdict {
    Fresh(SharedValue),
    Stale(SharedValue),
    /// Another caller's value.
    Coalesced(SharedValue),
    Failed(Failed),
    Refused(FlightError),
    Default,
    Lead(Box<Leader>),
    /// Run the body beside everything.
    Bare,
}

/// What one caller knows so far.
pub(crate) struct Course {
    /// When it called.
    pub(crate) arrived: Instant,
    /// When its wait budget ends.
    budget: Instant,
    /// When it stops to wait for what it is waiting for.
    pub(crate) deadline: Instant,
    pub(crate) purpose: Purpose,
    /// The copy to fall back on.
    pub(crate) seen: Option<Found>,
    /// A stored record is newer than this build understands.
    pub(crate) newer: bool,
}

impl Request {
    /// Carries the call as far as it goes without running its body.
    pub(crate) async fn carry(&self) -> Verdict {
        let engine = &*self.engine;
        let purpose = if self.scope.refresh { Purpose::Renewal } else { Purpose::Fill };
        let arrived = engine.clock.now();
        let budget = far(arrived, self.terms.wait);
        let mut course = Course { arrived, budget, deadline: budget, purpose, seen: None, newer: false };
        let mut absent = self.absent;
        loop {
            let route = self.route(&course).await;
            let looked = std::mem::take(&mut absent) && !route.brief;
            if !looked && let Some(verdict) = self.look_here(&route, &mut course) {
                return verdict;
            }
            if course.newer && !route.brief {
                continue;
            }
            let id = self.id.with(course.purpose);
            if self.is_inside(&id) {
                return Verdict::Bare;
            }
            let done = match engine.table.join(&id, self.manner(&course, &route)) {
                Joined::Lead(lead) => self.approach(lead, route, &mut course).await,
                Joined::Follow(follow) => self.follow(follow, route, &mut course).await,
                Joined::Busy => self.lose(&mut course),
            };
            if let Some(verdict) = done {
                return verdict;
            }
        }
    }

    /// Looks where no waiting is needed.
    fn look_here(&self, route: &Route, course: &mut Course) -> Option<Verdict> {
        if route.wire || course.purpose != Purpose::Fill {
            return None;
        }
        match self.judge(route.store.peek(&route.key), route) {
            Looked::Fresh(found) => return Some(Verdict::Fresh(found.value)),
            Looked::Stale(found) => {
                course.seen = Some(found);
                course.purpose = Purpose::Refresh;
            }
            Looked::Newer => course.newer = true,
            Looked::Missing { .. } => course.seen = None,
        }
        None
    }

    /// How this call joins a flight.
    fn manner(&self, course: &Course, route: &Route) -> Manner {
        let impatient = self.gives_way(course);
        let busy = !route.wire || course.purpose != Purpose::Fill;
        let now = self.engine.clock.now();
        Manner {
            arrived: course.arrived,
            now,
            deadline: course.deadline,
            impatient,
            patience: self.terms.lease,
            busy,
        }
    }

    /// Whether this call is content with the copy it has seen. A copy that is only to be refreshed early is fresh.
    fn takes_stale(&self, course: &Course) -> bool {
        let servable = course.seen.as_ref().filter(|found| self.engine.clock.now() < found.gone);
        servable.is_some_and(|found| !found.stale || self.terms.losers != Losers::Wait)
    }

    /// Whether this call is part of the very load it would wait for.
    fn is_inside(&self, id: &FlightId) -> bool {
        // By key alone: another function of the same key contends for the same lease, which that load holds.
        self.scope
            .frames()
            .any(|frame| frame.flight.is_of(&self.engine.table) && frame.flight.id().key == id.key)
    }

    /// The way to the lease. In a box of its own: of a herd only one goes it, and what each of the others keeps stays small.
    async fn approach(&self, lead: Lead<Keeper>, route: Route, course: &mut Course) -> Option<Verdict> {
        Box::pin(Approach::run(self, lead, route, course)).await
    }

    /// Awaits this process's leader.
    async fn follow(&self, follow: Follow<Keeper>, route: Route, course: &mut Course) -> Option<Verdict> {
        let Some(_blocked) =
            Blocked::wait_for(self.scope.frames().map(|frame| &frame.flight), follow.flight())
        else {
            // Two fills that wait for each other would wait for ever: this one goes on by itself.
            return Some(Verdict::Bare);
        };
        match follow.await {
            Followed::Answer(outcome) => self.hear(outcome, course),
            // Whose budget is over goes on with the loads of such, one at a time, each of which looks in the store first.
            Followed::Again if course.purpose == Purpose::Overdue => None,
            Followed::Again => {
                course.start_again(self.scope.refresh);
                None
            }
            Followed::Lead(lead) => {
                // Callers often leave together. One that is about to leave as well does so now, before it has begun a load
                // in vain; the next in line is no worse off.
                tokio::task::yield_now().await;
                self.site.count(Count::Takeover);
                self.tell(&Event::TakenOver);
                self.approach(lead, route, course).await
            }
            Followed::Expired => self.overdue(course),
            Followed::Busy => self.lose(course),
        }
    }

    /// Makes another caller's outcome this one's.
    pub(crate) fn hear(&self, outcome: Outcome, course: &mut Course) -> Option<Verdict> {
        match outcome {
            Outcome::Value(value) => Some(Verdict::Coalesced(value)),
            Outcome::Stale(found) => {
                course.seen = Some(found);
                course.purpose = Purpose::Refresh;
                course.deadline = course.budget;
                None
            }
            Outcome::Failed(failed) => self.fail(failed, course),
        }
    }

    /// The load this call waited for failed: a stale copy wins, then the error if the type can carry it.
    pub(crate) fn fail(&self, failed: Failed, course: &mut Course) -> Option<Verdict> {
        if let Some(found) = course.take_seen(self.engine.clock.now()) {
            return Some(self.stale(found));
        }
        if failed.failure.error.is_some() && !self.terms.retry_errors || self.shares_failures() {
            return Some(Verdict::Failed(failed));
        }
        course.start_again(self.scope.refresh);
        None
    }

    fn stale(&self, found: Found) -> Verdict {
        self.tell(&Event::Stale { age: found.age(&self.terms, self.engine.clock.now()) });
        Verdict::Stale(found.value)
    }

    /// What a caller does that finds someone else loading.
    pub(crate) fn lose(&self, course: &mut Course) -> Option<Verdict> {
        if let Some(found) = course.seen.as_ref().filter(|_| self.takes_stale(course)) {
            let found = found.clone();
            return Some(if found.stale { self.stale(found) } else { Verdict::Fresh(found.value) });
        }
        match self.terms.losers {
            Losers::Default => Some(Verdict::Default),
            Losers::Fail if self.can_fail => Some(self.refuse(FlightErrorKind::Busy)),
            // The copy it was content with is gone by now.
            _ => {
                course.seen = None;
                course.start_again(self.scope.refresh);
                None
            }
        }
    }

    /// The wait budget is used up. A stale copy always wins; then the policy; a load is shared by all of this process
    /// whose budget has run out.
    pub(crate) fn overdue(&self, course: &mut Course) -> Option<Verdict> {
        self.site.count(Count::Timeout);
        self.tell(&Event::TimedOut);
        let now = self.engine.clock.now();
        if let Some(found) = course.seen.take().filter(|found| now < found.gone) {
            return Some(self.stale(found));
        }
        match self.terms.on_timeout {
            OnTimeout::Default => return Some(Verdict::Default),
            OnTimeout::Fail if self.can_fail => return Some(self.refuse(FlightErrorKind::TimedOut)),
            OnTimeout::Fail | OnTimeout::Load => {}
        }
        course.purpose = Purpose::Overdue;
        // Not the wait budget again: those whose load outlives it would load one after the other, all at once.
        course.deadline = far(now, self.terms.max_hold + self.terms.lease);
        None
    }

    /// Whether another process's failure can be this call's.
    pub(crate) fn shares_failures(&self) -> bool {
        self.can_fail && !self.terms.retry_errors
    }

    fn refuse(&self, kind: FlightErrorKind) -> Verdict {
        Verdict::Refused(FlightError::new(kind, &self.id.key))
    }

    /// Whether a caller that finds the lease held leaves it at that.
    pub(crate) fn gives_way(&self, course: &Course) -> bool {
        match course.purpose {
            Purpose::Fill => match self.terms.losers {
                Losers::Default => true,
                Losers::Fail => self.can_fail,
                Losers::Stale | Losers::Wait => false,
            },
            Purpose::Refresh => self.takes_stale(course),
            Purpose::Renewal | Purpose::Overdue => false,
        }
    }

    /// Counts and tells that the backend could not do a step.
    pub(crate) fn degrade(&self, error: &BackendError) {
        self.site.count(Count::AcquireFailed);
        self.tell(&Event::Degraded(error));
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        self.engine.ears.tell(self.site.name, &self.id.key, event);
    }
}

impl Engine {
    pub(crate) fn statistics(&self) -> Statistics {
        let near = self.near.as_ref().map(|near| near.figures());
        let top_keys = self.top_keys.as_ref().map(TopKeys::list).unwrap_or_default();
        Statistics { near, top_keys, ..self.sites.statistics() }
    }
}

impl Course {
    /// The copy to fall back on, unless a new value was asked for whatever is stored.
    pub(crate) fn take_seen(&mut self, now: Instant) -> Option<Found> {
        self.seen.take_if(|_| self.purpose != Purpose::Renewal).filter(|found| now < found.gone)
    }

    /// Looks again from the beginning.
    pub(crate) fn start_again(&mut self, refresh: bool) {
        self.purpose = if refresh { Purpose::Renewal } else { Purpose::Fill };
        self.deadline = self.budget;
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("backend", &self.backend)
            .field("namespace", &self.namespace)
            .field("flights", &self.table.len())
            .finish_non_exhaustive()
    }
}
