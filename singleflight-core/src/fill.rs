//! Running the user's body, in the caller's own future, while the lease is renewed.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::backend::SharedValue;
use crate::clock::far;
use crate::control::{CallOutcome, Frame, Scope};
use crate::engine::{Engine, Request};
use crate::entry::Kind;
use crate::error::{FlightErrorKind, clip};
use crate::flight::Lead;
use crate::lease::{Failed, Found, Keeper, Lease, LeaseEnd, Outcome, Stage};
use crate::observe::{Count, Event, SiteState, Warning};
use crate::policy::Terms;
use crate::trace::FlightSpan;
use crate::typed::{Failure, Loaded, Taken, Typed, ValueOps};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A leader about to run its body, or running it.
pub(crate) struct Leader {
    pub(crate) engine: Arc<Engine>,
    pub(crate) key: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) value: ValueOps,
    pub(crate) terms: Terms,
    pub(crate) site: Arc<SiteState>,
    /// `None` once the flight is over for this leader.
    pub(crate) lead: Option<Lead<Keeper>>,
    pub(crate) lease: Option<Lease>,
    /// The copy that a failed refresh leaves.
    pub(crate) seen: Option<Found>,
    /// Its caller has that copy already, and its task goes on alone.
    pub(crate) answered: bool,
    pub(crate) began: Instant,
    frame: Arc<Frame>,
    pub(crate) scope: Scope,
    span: FlightSpan,
    /// The body has ended by itself.
    ended: bool,
    /// Set around each poll of the body: still set when this is dropped, the body has panicked.
    polling: bool,
}

impl Leader {
    pub(crate) fn new(
        call: &Request,
        lead: Lead<Keeper>,
        lease: Option<Lease>,
        seen: Option<Found>,
        now: Instant,
    ) -> Box<Self> {
        let frame = Frame { flight: lead.flight().clone(), parent: call.scope.frame.clone() };
        Box::new(Self {
            engine: call.engine.clone(),
            key: call.id.key.clone(),
            kind: call.kind,
            value: call.value,
            terms: call.terms,
            site: call.site.clone(),
            lead: Some(lead),
            lease,
            seen,
            answered: false,
            began: now,
            frame: Arc::new(frame),
            scope: call.scope.clone(),
            span: FlightSpan::new(&call.engine.ears, call.site.name, &call.id.key),
            ended: false,
            polling: false,
        })
    }

    /// Polls the body once, in its surroundings.
    fn poll_body<T>(&mut self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        self.beat();
        self.polling = true;
        let scope = self.scope.clone().of_body(Some(self.frame.clone()));
        let ready = self.span.around(|| scope.enter(poll));
        self.polling = false;
        ready
    }

    fn beat(&self) {
        if let Some(lead) = &self.lead {
            lead.beat(self.engine.clock.now());
        }
    }

    /// Renews the lease until it ends; without one, wakes the leader so that it is seen to be alive.
    fn keep(&self) -> Boxed<LeaseEnd> {
        let clock = self.engine.clock.clone();
        let site = self.site.clone();
        let ends = far(self.began, self.terms.max_hold);
        let pause = self.terms.lease / 3;
        match self.lease.clone() {
            Some(lease) => Box::pin(lease.keep(clock, ends, move || site.count(Count::Renewal))),
            None => Box::pin(async move {
                clock.sleep(pause).await;
                LeaseEnd::Nothing
            }),
        }
    }

    /// `max_hold` is over: the next one takes over, with a lease of its own, while this body goes on for its caller.
    fn step_down(&mut self) {
        if let Some(lead) = self.lead.take() {
            lead.set_stage(Stage::Open);
        }
        if let Some(lease) = self.lease.take() {
            lease.abandon(None, Duration::ZERO);
        }
        self.fence();
    }

    /// Notes that what this body gives is for its own caller alone.
    pub(crate) fn fence(&mut self) {
        self.lease = None;
        self.site.count(Count::Fenced);
        self.site.count(Count::Duplicate);
        let outdated = self.lead.as_ref().is_some_and(|lead| lead.flight().is_detached());
        self.tell(if outdated { &Event::Outdated } else { &Event::Fenced });
    }

    /// Ends the flight with a failure. Nothing here waits, so an error need not be `Send`.
    fn fail(&mut self, failed: Failed) {
        let now = self.engine.clock.now();
        self.seen.take_if(|found| found.gone <= now);
        let refresh = self.seen.as_ref().filter(|_| self.lease.is_some());
        // After a failed refresh none is begun for one lease TTL, or until the copy is gone.
        let cooldown = refresh.map_or(Duration::ZERO, |found| self.terms.lease.min(found.gone - now));
        let told = (!self.terms.retry_errors).then(|| failed.failure.message.clone());
        // Those who try for themselves share no failure; but where there is a copy, nobody needs to try.
        let cooldown = if told.is_some() { cooldown.max(self.terms.error_cooldown) } else { cooldown };
        if told.is_some() && !cooldown.is_zero() && failed.failure.error.is_some() {
            self.engine.cooling.remember(&self.key, self.kind.identity, &failed, now, cooldown);
        }
        if let Some(lease) = self.lease.take() {
            lease.abandon(told.clone(), cooldown);
        }
        if let Some(lead) = self.lead.take() {
            if told.is_some() {
                lead.answer(Outcome::Failed(failed))
            } else {
                lead.dismiss()
            };
        }
    }

    /// Counts the fill.
    pub(crate) fn filled(&mut self, took: Duration, ok: bool) {
        self.site.count(Count::Fill);
        if !ok {
            self.site.count(Count::Error);
        }
        self.ended = true;
        self.span.end(if ok { "value" } else { "error" });
        if let Some(keys) = &self.engine.top_keys {
            keys.count(&self.key);
        }
        self.site.times.record(took);
        self.tell(&Event::Filled { took, ok });
        let p99 = self.site.times.p99().unwrap_or_default();
        if self.terms.lease_is_fixed && p99 > self.terms.lease && self.site.warns(Warning::LeaseShort) {
            self.tell(&Event::LeaseShort { p99, write: self.engine.auto.ttl(Some(p99)) });
        }
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        self.engine.ears.tell(self.site.name, &self.key, event);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.polling {
            // The body panicked: unlike a cancelled one it has an outcome, which all who wait share.
            self.site.count(Count::Panic);
            self.span.end("panic");
            let failure = Failure { error: None, message: "the load panicked".into() };
            self.fail(Failed { failure, kind: FlightErrorKind::Panicked });
        } else if !self.ended {
            self.span.end("cancelled");
        }
    }
}

/// A body being run.
struct Filling {
    leader: Box<Leader>,
    keeping: Option<Boxed<LeaseEnd>>,
}

impl Filling {
    /// Keeps the lease alive; called whenever the body is not ready.
    fn poll_keeping(&mut self, cx: &mut Context<'_>) {
        while self.leader.lead.is_some() {
            let keeping = self.keeping.get_or_insert_with(|| self.leader.keep());
            let Poll::Ready(end) = keeping.as_mut().poll(cx) else { return };
            self.keeping = None;
            match end {
                LeaseEnd::Nothing => {}
                // Voided, or expired while this process was stopped: what this body gives is for its own caller.
                LeaseEnd::Lost => {
                    self.leader.fence();
                    self.leader.lead.take().map(Lead::dismiss);
                }
                LeaseEnd::HeldTooLong => self.leader.step_down(),
            }
        }
    }
}

/// Runs a body to its end and settles what it gives.
pub(crate) struct Run<'a, 'b, R, F> {
    typed: &'a dyn Typed<R>,
    body: Pin<&'b mut F>,
    phase: Phase,
}

enum Phase {
    /// Beside everything, in these surroundings.
    Bare(Scope),
    Body(Filling),
    Publishing(Boxed<SharedValue>),
    Over,
}

impl<'a, 'b, R, F> Run<'a, 'b, R, F> {
    pub(crate) fn new(typed: &'a dyn Typed<R>, body: Pin<&'b mut F>, leader: Option<Box<Leader>>) -> Self {
        let phase = match leader {
            Some(leader) => Phase::Body(Filling { leader, keeping: None }),
            None => Phase::Bare(Scope::current()),
        };
        Self { typed, body, phase }
    }
}

/// The part of [`Run`] that does not depend on the body: one copy for each result type.
fn step<R>(
    typed: &dyn Typed<R>,
    phase: &mut Phase,
    cx: &mut Context<'_>,
    poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    loop {
        match phase {
            Phase::Bare(scope) => return scope.clone().of_body(None).enter(|| poll(cx)),
            Phase::Body(filling) => {
                let Poll::Ready(result) = filling.leader.poll_body(|| poll(cx)) else {
                    filling.poll_keeping(cx);
                    return Poll::Pending;
                };
                let taken = typed.take(result);
                let Phase::Body(Filling { leader, .. }) = std::mem::replace(phase, Phase::Over) else {
                    continue;
                };
                match taken {
                    Taken::Value(loaded) => *phase = Phase::Publishing(leader.settle(loaded)),
                    Taken::Error(result, failure) => {
                        return Poll::Ready(leader.give_up(typed, result, failure));
                    }
                }
            }
            Phase::Publishing(publish) => {
                let Poll::Ready(value) = publish.as_mut().poll(cx) else { return Poll::Pending };
                *phase = Phase::Over;
                return match typed.hand(value) {
                    Some(result) => Poll::Ready(result),
                    None => unreachable_type(),
                };
            }
            Phase::Over => return Poll::Pending,
        }
    }
}

/// `take` and `give` of one `Typed` speak of one type.
#[cold]
fn unreachable_type() -> ! {
    unreachable!("a value was taken from a result as one type and given back as another")
}

impl Leader {
    /// The value is there: publishes it.
    fn settle(self: Box<Self>, loaded: Loaded) -> Boxed<SharedValue> {
        Box::pin(self.publish(loaded))
    }

    /// The body failed: what its own caller gets.
    fn give_up<R>(mut self: Box<Self>, typed: &dyn Typed<R>, result: R, failure: Failure) -> R {
        self.filled(self.engine.clock.now().saturating_duration_since(self.began), false);
        let scope = self.scope.clone();
        let Failure { error, message } = failure;
        let failure = Failure { error, message: clip(&message).into() };
        self.fail(Failed { failure, kind: FlightErrorKind::LoadFailed });
        // A failed refresh leaves the copy, also for the one who tried.
        let copy = self.seen.take().filter(|_| !self.answered).and_then(|found| {
            let copy = typed.give(&*found.value)?;
            self.site.count(Count::Stale);
            self.tell(&Event::Stale { age: found.age(&self.terms, self.engine.clock.now()) });
            Some(copy)
        });
        scope.note(if copy.is_some() { CallOutcome::Stale } else { CallOutcome::Failed });
        copy.unwrap_or(result)
    }
}

impl<R, F: Future<Output = R>> Future for Run<'_, '_, R, F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let Self { typed, body, phase } = &mut *self;
        step(*typed, phase, cx, &mut |cx| body.as_mut().poll(cx))
    }
}

impl<R, F> fmt::Debug for Run<'_, '_, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}
