//! The first stage: is there a value, and is it fresh?

use crate::backend::{Medium, SharedValue};
use crate::clock::{Clock, far};
use crate::codec::Codec;
use crate::engine::Request;
use crate::entry::{Entry, Payload};
use crate::flight::Lead;
use crate::lease::{Found, Keeper};
use crate::near::{Fresh, Near, Ticket};
use crate::observe::{Count, Event, Warning};
use crate::route::Route;
use crate::wait::alive;

/// What a look-up found.
pub(crate) enum Looked {
    Fresh(Found),
    /// Past the soft TTL, or to be refreshed early.
    Stale(Found),
    Missing {
        /// There is an entry of the right kind that cannot be read: it is to be replaced although it is fresh.
        spoilt: bool,
    },
    /// An entry of a higher version, which is not to be replaced.
    Newer,
}

impl Request {
    /// Reads from the store of `route`; one that cannot answer is left for this process's own.
    pub(crate) async fn read(&self, lead: &Lead<Keeper>, route: &mut Route) -> Looked {
        let entry = if route.store.medium() == Medium::Values {
            route.store.peek(&route.key)
        } else {
            let near = self.engine.near_ticket(&self.id.key);
            let read = alive(lead, self, route.store.read(&route.key)).await;
            self.engine.note(&route.store, &read);
            if let (Some((near, ticket)), Ok(Some(entry))) = (near, &read) {
                return self.judge_near(entry.clone(), route, near, ticket);
            }
            match read {
                Ok(entry) => entry,
                Err(error) => {
                    self.degrade(&error);
                    *route = self.engine.here(&self.id.key, true);
                    route.store.peek(&route.key)
                }
            }
        };
        self.judge(entry, route)
    }

    /// What an entry means to this call; a fresh one is kept for later calls.
    fn judge_near(&self, entry: Entry, route: &Route, near: &Near, ticket: Ticket) -> Looked {
        let (stamp, fresh_for) = (entry.stamp, entry.fresh_for());
        let looked = self.judge(Some(entry), route);
        if let Looked::Fresh(found) = &looked {
            near.found(&self.id.key, ticket, Fresh { value: found.value.clone(), stamp, fresh_for });
        }
        looked
    }

    /// What an entry means to this call.
    pub(crate) fn judge(&self, entry: Option<Entry>, route: &Route) -> Looked {
        let missing = Looked::Missing { spoilt: false };
        let Some(entry) = entry else { return missing };
        if entry.stamp.kind.identity != self.kind.identity {
            self.site.count(Count::Foreign);
            if self.site.warns(Warning::Foreign) {
                self.tell(&Event::Foreign);
            }
            return missing;
        }
        if entry.stamp.kind.version > self.kind.version && !route.brief {
            return Looked::Newer;
        }
        if entry.stamp.kind.version != self.kind.version {
            return missing;
        }
        let Some(value) = self.value_of(&entry) else { return Looked::Missing { spoilt: true } };
        let stale = !entry.is_fresh();
        let gone = far(self.engine.clock.now(), entry.gone_in());
        let found = Found { value, grant: entry.stamp.grant, gone, stale };
        if stale || refreshes_early(self.terms.early, &entry, &self.engine.clock) {
            Looked::Stale(found)
        } else {
            Looked::Fresh(found)
        }
    }

    fn value_of(&self, entry: &Entry) -> Option<SharedValue> {
        match &entry.payload {
            Payload::Value(value) => ((**value).type_id() == (self.value.type_id)()).then(|| value.clone()),
            Payload::Bytes(bytes) => {
                let wire = self.value.wire.as_ref()?;
                let Some(codec) = Codec::from_number(entry.stamp.codec) else {
                    self.tell(&Event::Undecodable("written by a codec that this build does not have"));
                    return None;
                };
                match (wire.decode)(codec, bytes) {
                    Ok(value) => Some(value),
                    Err(error) => {
                        self.tell(&Event::Undecodable(&error.to_string()));
                        None
                    }
                }
            }
        }
    }
}

/// `XFetch`: refresh before the soft TTL when `fill time × β × −ln(random)` reaches past it.
pub(crate) fn refreshes_early(beta: f64, entry: &Entry, clock: &Clock) -> bool {
    if beta <= 0.0 {
        return false;
    }
    // In 0 < x <= 1, so that the logarithm is finite.
    let chance = 1.0 - clock.fraction();
    entry.stamp.fill_time.as_secs_f64() * beta * -chance.ln() >= entry.fresh_for().as_secs_f64()
}
