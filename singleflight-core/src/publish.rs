//! The last stage: the value goes to the store under the lease's token, then to all who wait.

use std::time::Duration;

use crate::backend::{Abandon, Medium, Publish, Published, Released, SharedValue};
use crate::control::CallOutcome;
use crate::entry::{Payload, Stamp};
use crate::error::{BackendError, BackendErrorKind};
use crate::fill::Leader;
use crate::flight::Lead;
use crate::lease::{Filled, Lease, Outcome, Stage};
use crate::near::Fresh;
use crate::observe::{Count, Event};
use crate::typed::Loaded;

impl Leader {
    /// Stores a value that the body gave, answers the flight, and gives the value back.
    pub(crate) async fn publish(mut self: Box<Self>, loaded: Loaded) -> SharedValue {
        let took = self.engine.clock.now().saturating_duration_since(self.began);
        self.filled(took, true);
        self.scope.note(CallOutcome::Filled);
        let Loaded { value, negative, keep } = loaded;
        let filled = Filled { value: value.clone(), negative, took };
        if keep {
            self.finish(filled).await
        } else {
            self.discard(filled.value).await
        };
        value
    }

    /// Publishes, or finishes the publish of a leader that was dropped: a repeat of one that was done is recognised by
    /// its token. `false` where the value may have been voided or be gone since: it is then for the caller whose body
    /// gave it, and for nobody else.
    pub(crate) async fn finish(mut self: Box<Self>, filled: Filled) -> bool {
        let Some(lease) = self.lease.clone() else {
            return self.discard(filled.value).await;
        };
        let payload = match self.payload(&lease, &filled.value) {
            Ok(payload) => payload,
            Err(message) => {
                self.tell(&Event::Unencodable(&message));
                return self.discard(filled.value).await;
            }
        };
        self.close();
        if let Some(lead) = &self.lead {
            lead.set_stage(Stage::Filled(lease.clone(), filled.clone()));
        }
        let engine = self.engine.clone();
        let near = engine.near_ticket(&self.key).filter(|_| lease.store.medium() == Medium::Bytes);
        let ttls = self.ttls(lease.brief, filled.negative);
        let stamp = self.stamp(&lease, &payload, filled.took);
        let mut published = store(&lease, &payload, stamp, ttls).await;
        if matches!(&published, Err(error) if error.kind() == BackendErrorKind::Timeout) {
            published = store(&lease, &payload, stamp, ttls).await;
        }
        engine.note(&lease.store, &published);
        let stored = matches!(published, Ok(Published::Stored));
        if let (true, Some((near, ticket))) = (stored, near) {
            near.stored(&self.key, ticket, Fresh { value: filled.value.clone(), stamp, fresh_for: ttls.0 });
        }
        match published {
            Ok(Published::Stored) => {
                self.lease = None;
                self.lead.take().map(|lead| lead.answer_sealed(Outcome::Value(filled.value.clone())));
            }
            Ok(_) => {
                self.fence();
                self.lead.take().map(Lead::dismiss);
            }
            Err(error) if error.kind() == BackendErrorKind::Refused => {
                self.tell(&Event::Degraded(&error));
                return self.discard(filled.value).await;
            }
            Err(error) => {
                self.tell(&Event::Degraded(&error));
                self.lease = None;
                lease.abandon(None, Duration::ZERO);
                self.lead.take().map(|lead| lead.answer_boarded(Outcome::Value(filled.value.clone())));
            }
        }
        stored
    }

    /// Frees the lease of a value that is not stored. Those who wait get it all the same, unless an invalidation may
    /// lie between.
    async fn discard(mut self: Box<Self>, value: SharedValue) -> bool {
        let outcome = Outcome::Value(value);
        let Some(lease) = self.lease.clone() else {
            if let Some(lead) = self.lead.take() {
                self.site.count(Count::Duplicate);
                // Without a lease an invalidation elsewhere goes unheard: only for those who called before the load.
                lead.answer_boarded(outcome);
            }
            return false;
        };
        self.close();
        let freed = lease.store.abandon(Abandon::new(&lease.key, lease.token)).await;
        self.engine.note(&lease.store, &freed);
        self.lease = None;
        let owned = matches!(freed, Ok(Released::Freed));
        match freed {
            Ok(Released::Freed) => {
                self.lead.take().map(|lead| lead.answer_sealed(outcome));
            }
            Ok(_) => {
                self.fence();
                self.lead.take().map(Lead::dismiss);
            }
            Err(_) => {
                lease.abandon(None, Duration::ZERO);
                self.lead.take().map(|lead| lead.answer_boarded(outcome));
            }
        }
        owned
    }

    /// The fill is over. Followers take the value only if they came before the store is asked: after it, they can see
    /// for themselves; and nobody is to leave because of a fill that is over.
    fn close(&self) {
        if let Some(lead) = &self.lead {
            lead.seal(self.engine.clock.now());
            lead.set_busy(false);
        }
    }

    fn payload(&self, lease: &Lease, value: &SharedValue) -> Result<Payload, String> {
        if lease.store.medium() != Medium::Bytes {
            return Ok(Payload::Value(value.clone()));
        }
        let Some(wire) = &self.value.wire else { return Err("a `local` value".to_owned()) };
        (wire.encode)(self.engine.codec, &**value).map(Payload::Bytes).map_err(|error| error.to_string())
    }

    fn stamp(&self, lease: &Lease, payload: &Payload, took: Duration) -> Stamp {
        let codec = if matches!(payload, Payload::Bytes(_)) { self.engine.codec.number() } else { 0 };
        Stamp::new(self.kind, codec, took, lease.token)
    }

    /// The soft and the hard TTL, shortened by one random factor, so that keys filled together do not expire together.
    fn ttls(&self, brief: bool, negative: bool) -> (Duration, Duration) {
        let hard = if negative { self.terms.negative_ttl } else { self.terms.ttl };
        let soft = self.terms.soft_ttl.min(hard);
        if brief {
            let brief = self.engine.hold.min(soft);
            return (brief, brief);
        }
        if !self.engine.jitter {
            return (soft, hard);
        }
        let factor = 1.0 - self.engine.clock.fraction() * self.terms.jitter;
        let shorten = |ttl: Duration| ttl.mul_f64(factor).max(Duration::from_millis(1));
        (shorten(soft), shorten(hard))
    }
}

async fn store(
    lease: &Lease,
    payload: &Payload,
    stamp: Stamp,
    (soft, hard): (Duration, Duration),
) -> Result<Published, BackendError> {
    lease.store.publish(Publish::new(&lease.key, lease.token, payload.clone(), stamp, soft, hard)).await
}
