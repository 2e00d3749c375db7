//! The leader's way to the lease: look in the store, ask for the lease, wait for whoever has it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Acquire, Acquired, Renewed, Token};
use crate::clock::far;
use crate::engine::{Course, Request, Verdict};
use crate::error::{BackendErrorKind, FlightErrorKind, MAX_MESSAGE};
use crate::fill::Leader;
use crate::flight::{Blocked, Lead, Purpose};
use crate::lease::{Failed, Filled, Keeper, Lease, Outcome, Stage};
use crate::lookup::Looked;
use crate::observe::Count;
use crate::route::Route;
use crate::typed::Failure;
use crate::wait::{Waiting, Woken, alive};

/// A leader that has no lease yet.
pub(crate) struct Approach<'a> {
    call: &'a Request,
    lead: Lead<Keeper>,
    route: Route,
    token: Token,
    waiting: Waiting,
    /// Whether the store is to be read before the lease is asked for.
    look: bool,
    /// Whether the lease is wanted even where the entry is fresh.
    force: bool,
    /// Whether it is wanted even while a failure cools down.
    despite_cooldown: bool,
    /// Whether a question went unanswered and another was asked in its place.
    asked_again: bool,
}

/// Two fills wait for each other.
struct Circle;

/// How an approach ends.
enum End {
    Granted(Lease),
    /// The store had the answer.
    Found(Outcome),
    Failed(Failed),
    /// Someone else has the lease and this caller does not wait.
    Lost,
    Overdue,
    /// Deposed, or nothing to be had this way.
    Again,
    /// The key was invalidated meanwhile: everyone looks again.
    Detached,
    /// Run the body without a lease.
    Unleased,
    /// The lease is held by a fill that waits for the one this call is made in.
    Circle,
    /// A predecessor had the value already; its publish is finished.
    Finish(Lease, Filled),
}

impl<'a> Approach<'a> {
    fn new(call: &'a Request, lead: Lead<Keeper>, route: Route, course: &Course) -> Self {
        let token = call.engine.clock.token();
        // A store in process was looked at before this flight was joined.
        let look = match course.purpose {
            Purpose::Fill => route.wire,
            Purpose::Overdue => true,
            Purpose::Refresh | Purpose::Renewal => false,
        };
        // An early refresh would otherwise be told that the entry is fresh.
        let early = course.seen.as_ref().is_some_and(|found| !found.stale);
        let force = course.purpose == Purpose::Renewal || early;
        let despite_cooldown = course.purpose == Purpose::Renewal;
        let waiting = Waiting::new(course.deadline);
        Self { call, lead, route, token, waiting, look, force, despite_cooldown, asked_again: false }
    }

    /// Goes the whole way; `None` is to begin again.
    pub(crate) async fn run(
        call: &'a Request,
        lead: Lead<Keeper>,
        route: Route,
        course: &mut Course,
    ) -> Option<Verdict> {
        let mut approach = Self::new(call, lead, route, course);
        match approach.go(course).await {
            End::Finish(lease, filled) => Box::pin(approach.finish(lease, filled, course)).await,
            end => approach.end(end, course),
        }
    }

    /// Goes on until the lease is granted or someone else has answered.
    async fn go(&mut self, course: &mut Course) -> End {
        self.lead.set_terms(self.call.terms.lease, None);
        if course.purpose == Purpose::Overdue {
            // Those whose budgets end together sit down first: what this load gives is stored nowhere.
            tokio::task::yield_now().await;
        }
        let mut end = self.inherit().await;
        loop {
            if let Some(end) = end {
                return end;
            }
            end = if self.look { self.look(course).await } else { None };
            if end.is_none() {
                let overdue = course.purpose == Purpose::Overdue;
                end = if overdue { Some(End::Unleased) } else { self.ask(course).await };
            }
        }
    }

    /// Goes on from where a predecessor was dropped.
    async fn inherit(&mut self) -> Option<End> {
        match self.lead.stage() {
            None => Some(End::Again),
            Some(Stage::Open) => None,
            Some(Stage::Asked(lease)) => {
                // Taken back, not repeated with its token: where it is still on its way it may be heard when this
                // leader's own lease has been voided, and would give its load that lease back.
                lease.abandon(None, Duration::ZERO);
                None
            }
            Some(Stage::Granted(lease)) => {
                let renew = lease.store.renew(&lease.key, lease.token, lease.ttl);
                if matches!(alive(&self.lead, self.call, renew).await, Ok(Renewed::Extended)) {
                    return Some(End::Granted(lease));
                }
                lease.abandon(None, Duration::ZERO);
                self.lead.set_stage(Stage::Open);
                None
            }
            Some(Stage::Filled(lease, filled)) => Some(End::Finish(lease, filled)),
        }
    }

    /// Looks in the store. What it answers is only for those who came before the question.
    async fn look(&mut self, course: &mut Course) -> Option<End> {
        self.look = false;
        if course.purpose == Purpose::Fill {
            // What is about to be found may be fresh: nobody is to leave because of a fill that is over.
            self.lead.set_busy(false);
        }
        self.lead.seal(self.call.engine.clock.now());
        match self.call.read(&self.lead, &mut self.route).await {
            Looked::Fresh(found) => Some(End::Found(Outcome::Value(found.value))),
            // To be refreshed early, which is not for those who waited: rolling the dice again would ask for ever.
            Looked::Stale(found) if !found.stale && course.purpose != Purpose::Fill && !self.force => {
                Some(End::Found(Outcome::Value(found.value)))
            }
            Looked::Stale(found) if matches!(course.purpose, Purpose::Fill | Purpose::Overdue) => {
                Some(End::Found(Outcome::Stale(found)))
            }
            Looked::Stale(found) => {
                course.seen = Some(found);
                None
            }
            Looked::Newer => {
                course.newer = true;
                self.move_to(self.call.engine.here(&self.call.id.key, true));
                None
            }
            Looked::Missing { spoilt } => {
                self.force |= spoilt;
                None
            }
        }
    }

    /// Asks for the lease, and waits if someone else has it.
    async fn ask(&mut self, course: &Course) -> Option<End> {
        let Route { store, key, brief, .. } = self.route.clone();
        let lease = Lease { store, key, token: self.token, ttl: self.call.terms.lease, brief };
        if !self.lead.set_stage(Stage::Asked(lease.clone())) {
            return Some(End::Again);
        }
        let request = Acquire::new(&lease.key, lease.token, lease.ttl, self.call.kind)
            .forced(self.force)
            .despite_cooldown(self.despite_cooldown)
            .waited_on(self.waiting.grant().filter(|_| self.call.shares_failures()));
        let asked = alive(&self.lead, self.call, lease.store.acquire(request)).await;
        self.call.engine.note(&lease.store, &asked);
        match asked {
            Ok(Acquired::Granted) => {
                self.lead.set_busy(true);
                self.granted(lease, course).await
            }
            Ok(Acquired::Fresh) => {
                self.look = true;
                None
            }
            Ok(Acquired::CoolingDown { message, .. }) => Some(self.cooling(&message, course)),
            Ok(Acquired::Held { grant, left }) => {
                self.lead.set_busy(true);
                self.call.site.count(Count::Held);
                // Apart, so that the way of those who need not wait stays small.
                Box::pin(self.wait(&lease, grant, left, course)).await
            }
            Err(error) => {
                // The question may have been heard: it is taken back by its token.
                lease.abandon(None, Duration::ZERO);
                let unanswered = error.kind() == BackendErrorKind::Timeout;
                if unanswered && !std::mem::replace(&mut self.asked_again, true) {
                    // Another question, with a token of its own: see `inherit`.
                    self.token = self.call.engine.clock.token();
                    return None;
                }
                self.call.degrade(&error);
                self.move_to(self.call.engine.here(&self.call.id.key, true));
                self.look = true;
                None
            }
        }
    }

    /// The lease is this process's. Before a fresh entry is replaced, a look whether somebody just did so.
    async fn granted(&mut self, lease: Lease, course: &Course) -> Option<End> {
        if !self.lead.set_stage(Stage::Granted(lease.clone())) {
            lease.abandon(None, Duration::ZERO);
            return Some(End::Again);
        }
        self.call.site.count(Count::Granted);
        if self.lead.flight().is_detached() {
            // Granted after the invalidate: the load belongs to the flight that later callers join, whose leader would
            // wait for this one unseen. An invalidate detaches before it voids, so this look is late enough.
            lease.abandon(None, Duration::ZERO);
            self.lead.set_stage(Stage::Open);
            return Some(End::Detached);
        }
        if let Some(seen) = course.seen.as_ref().filter(|seen| self.force && !seen.stale) {
            self.lead.seal(self.call.engine.clock.now());
            match Box::pin(self.call.read(&self.lead, &mut self.route)).await {
                Looked::Fresh(found) | Looked::Stale(found) if found.grant != seen.grant && !found.stale => {
                    lease.abandon(None, Duration::ZERO);
                    self.lead.set_stage(Stage::Open);
                    return Some(End::Found(Outcome::Value(found.value)));
                }
                _ => {}
            }
        }
        Some(End::Granted(lease))
    }

    async fn wait(&mut self, lease: &Lease, grant: Token, left: Duration, course: &Course) -> Option<End> {
        // The question was answered, and not with a grant: nothing is left to be cleaned up.
        if !self.lead.set_stage(Stage::Open) {
            return Some(End::Again);
        }
        if self.call.gives_way(course) {
            return Some(End::Lost);
        }
        if self.waiting.grant().is_none() {
            self.call.site.count(Count::Wait);
        }
        let Ok(_blocked) = self.wait_for_holder(grant) else { return Some(End::Circle) };
        let next = pin!(self.waiting.next(lease, grant, left, &self.call.engine.clock));
        match alive(&self.lead, self.call, next).await {
            Woken::Ask => None,
            Woken::Look => {
                self.look = true;
                None
            }
            Woken::Overdue => Some(End::Overdue),
        }
    }

    /// Notes that this flight, and the fills it is called in, wait for the flight of this process that has the lease, if
    /// one has; the error is that this closes a circle.
    fn wait_for_holder(&self, grant: Token) -> Result<Option<Blocked<Keeper>>, Circle> {
        let flight = self.lead.flight();
        let holds = |stage: &Stage| stage.lease().is_some_and(|lease| lease.token == grant);
        let Some(holder) = self.call.engine.table.sibling(flight, holds) else { return Ok(None) };
        let inside = self.call.scope.frames().map(|frame| &frame.flight);
        Blocked::wait_for(std::iter::once(flight).chain(inside), &holder).map(Some).ok_or(Circle)
    }

    /// A load failed a moment ago.
    fn cooling(&self, message: &Arc<str>, course: &Course) -> End {
        if course.seen.is_none() && self.call.terms.retry_errors {
            // It tries for itself, in spite of it.
            return End::Unleased;
        }
        let (key, now) = (&self.call.id.key, self.call.engine.clock.now());
        if let Some(failed) = self.call.engine.cooling.recall(key, self.call.kind.identity, now) {
            return End::Failed(failed);
        }
        if course.seen.is_none() && !self.call.shares_failures() {
            // Nobody here can be told of it: load in spite of it, for this process alone.
            return End::Unleased;
        }
        let waited = self.waiting.grant().is_some();
        let kind = if waited { FlightErrorKind::LoadFailed } else { FlightErrorKind::CoolingDown };
        End::Failed(failed(message, kind))
    }

    /// Goes on with another store.
    fn move_to(&mut self, route: Route) {
        self.route = route;
        self.token = self.call.engine.clock.token();
        self.force = false;
    }

    /// Stores what a predecessor had loaded.
    async fn finish(self, lease: Lease, filled: Filled, course: &mut Course) -> Option<Verdict> {
        let value = filled.value.clone();
        let leader = Leader::new(self.call, self.lead, Some(lease), None, self.call.engine.clock.now());
        if leader.finish(filled).await {
            return Some(Verdict::Coalesced(value));
        }
        // The body was not this caller's, and may have run long before it came.
        course.start_again(self.call.scope.refresh);
        None
    }

    /// Settles the flight.
    fn end(self, end: End, course: &mut Course) -> Option<Verdict> {
        let Self { call, lead, .. } = self;
        let now = call.engine.clock.now();
        let end = match end {
            // For the same reason as in `granted`: each invalidate would otherwise add a load to those that go on.
            // At the deadline it loads all the same, so that no row of invalidates can keep it from its answer.
            End::Unleased if lead.flight().is_detached() && now < course.deadline => End::Detached,
            end => end,
        };
        match end {
            End::Granted(lease) => {
                call.site.set_lease(lease.ttl);
                if lease.brief {
                    call.site.count(Count::Degraded);
                }
                lead.board(now);
                lead.set_terms(lease.ttl, Some(far(now, call.terms.max_hold)));
                Some(Verdict::Lead(Leader::new(call, lead, Some(lease), course.take_seen(now), now)))
            }
            End::Detached => {
                lead.dismiss();
                if course.purpose != Purpose::Overdue {
                    course.start_again(call.scope.refresh);
                }
                None
            }
            End::Unleased => {
                lead.board(now);
                lead.set_terms(call.terms.lease, Some(far(now, call.terms.max_hold)));
                Some(Verdict::Lead(Leader::new(call, lead, None, course.take_seen(now), now)))
            }
            End::Found(outcome) => {
                lead.answer_sealed(outcome.clone());
                match outcome {
                    Outcome::Value(value) if self.waiting.grant().is_some() => {
                        Some(Verdict::Coalesced(value))
                    }
                    Outcome::Value(value) => Some(Verdict::Fresh(value)),
                    other => call.hear(other, course),
                }
            }
            End::Failed(failed) => {
                lead.answer(Outcome::Failed(failed.clone()));
                call.fail(failed, course)
            }
            End::Lost => call.lose(course),
            End::Circle => Some(Verdict::Bare),
            End::Overdue => {
                // Others have longer: the next one goes on with the wait.
                drop(lead);
                call.overdue(course)
            }
            // What is to be finished was: see `run`.
            End::Again | End::Finish(..) => {
                course.start_again(call.scope.refresh);
                None
            }
        }
    }
}

/// Another process's failure.
fn failed(message: &Arc<str>, kind: FlightErrorKind) -> Failed {
    debug_assert!(message.len() <= MAX_MESSAGE, "backends carry messages as they were clipped");
    Failed { failure: Failure { error: None, message: message.clone() }, kind }
}
