//! The backend behind the network, and the ledger beside it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Change, Invalidated, LeaseBackend, Publish, Published, Released,
};
use singleflight_core::entry::Payload;
use singleflight_core::error::BackendError;
use tokio::sync::oneshot;

use crate::event::Kind;
use crate::ledger::{Fault, number};
use crate::plan::Net;
use crate::world::{State, World};

/// The backend behind the network, and the ledger beside it.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) world: Arc<World>,
    pub(crate) store: Arc<dyn LeaseBackend>,
    pub(crate) net: Net,
    pub(crate) process: usize,
}

/// What becomes of one request.
pub(crate) struct Fate {
    pub(crate) arrives: Option<Duration>,
    pub(crate) back: Duration,
    pub(crate) answered: bool,
}

impl Server {
    /// Decides when a request arrives and whether its answer does; `None` where the process is cut off.
    pub(crate) fn fate(&self, now: Duration, probes: bool) -> Option<Fate> {
        let mut state = self.world.lock();
        let process = &mut state.processes[self.process];
        if process.dead {
            return Some(Fate { arrives: None, back: Duration::ZERO, answered: false });
        }
        if now < process.cut_until {
            if probes {
                state.record.note(now, Kind::OutageMet, self.process, 0);
            }
            return None;
        }
        let rng = &mut process.rng;
        let mut strikes = |often: u64| rng.u64(0..1000) < often;
        let (lost, held_up, silent) =
            (strikes(self.net.requests_lost), strikes(self.net.held_up), strikes(self.net.answers_lost));
        let mut delay = rng.u64(0..=self.net.delay);
        let back = Duration::from_millis(rng.u64(0..=self.net.delay));
        delay += if held_up { self.net.timeout * rng.u64(1..4) } else { 0 };
        let arrives = (now + Duration::from_millis(delay)).max(process.last_arrival);
        if !lost {
            process.last_arrival = arrives;
        }
        for (struck, kind) in [(lost, Kind::RequestLost), (held_up, Kind::HeldUp), (silent, Kind::AnswerLost)]
        {
            if struck {
                state.record.note(now, kind, self.process, 0);
            }
        }
        Some(Fate { arrives: (!lost).then_some(arrives), back, answered: !silent })
    }

    /// Does one step, and sends its answer on its way.
    pub(crate) fn serve<T: Send + 'static>(
        self,
        key: usize,
        back: Duration,
        answered: bool,
        sender: oneshot::Sender<Result<T, BackendError>>,
        step: impl FnOnce(&Self, usize) -> Result<T, BackendError>,
    ) {
        let answer = step(&self, key);
        if answered {
            let at = self.world.now() + back;
            self.world.at(at, move || drop(sender.send(answer)));
        }
    }

    /// Enters what a step did into the ledger.
    pub(crate) fn enter(&self, key: usize, what: impl FnOnce(&mut State, Duration) -> (Kind, Fault)) {
        let now = self.world.now();
        let mut state = self.world.lock();
        if state.ledger.expired(key, now) {
            state.record.note(now, Kind::LeaseExpired, self.process, key);
        }
        let (kind, fault) = what(&mut state, now);
        state.record.note(now, kind, self.process, key);
        if let Some((promise, words)) = fault {
            state.violate(promise, || words);
        }
    }

    /// Sends a notice to everyone who watches the key, each in its own time if at all.
    pub(crate) fn notify(&self, key: usize, change: &Change) {
        let now = self.world.now();
        let mut state = self.world.lock();
        let watches: Vec<(u64, usize)> = state
            .ledger
            .watches
            .iter()
            .filter(|(_, w)| w.key == key)
            .map(|(id, w)| (*id, w.process))
            .collect();
        for (id, process) in watches {
            let to = &mut state.processes[process];
            let lost = to.rng.u64(0..1000) < self.net.notices_lost || now < to.cut_until;
            let at = now + Duration::from_millis(to.rng.u64(0..=self.net.delay));
            if lost {
                state.record.note(now, Kind::NoticeLost, process, key);
                continue;
            }
            drop(state);
            let (world, change) = (self.world.clone(), change.clone());
            self.world.at(at, move || {
                let mut state = world.lock();
                let Some(watched) = state.ledger.watches.get_mut(&id) else { return };
                watched.inbox.push(change);
                let waker = watched.waker.take();
                drop(state);
                waker.into_iter().for_each(Waker::wake);
            });
            state = self.world.lock();
        }
    }

    pub(crate) fn acquire(&self, key: usize, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        let answer = ready(self.store.acquire(request))?;
        self.enter(key, |state, now| match &answer {
            Acquired::Granted => {
                let kind = if request.force { Kind::GrantedForced } else { Kind::Granted };
                let token = number(&request.token);
                (kind, state.ledger.granted(self.process, key, token, now, request.ttl))
            }
            Acquired::Fresh => (Kind::Fresh, None),
            Acquired::Held { .. } => (Kind::Held, None),
            _ => (Kind::CoolingDown, None),
        });
        Ok(answer)
    }

    pub(crate) fn publish(&self, key: usize, request: Publish<'_>) -> Result<Published, BackendError> {
        let (token, hard) = (number(&request.token), request.hard_ttl);
        let row = match &request.payload {
            Payload::Bytes(bytes) => rmp_serde::from_slice(bytes).expect("the engine writes MessagePack"),
            other => unreachable!("this backend keeps bytes: {other:?}"),
        };
        let answer = ready(self.store.publish(request))?;
        let mut new = false;
        self.enter(key, |state, now| {
            if answer != Published::Stored {
                return (Kind::Refused, None);
            }
            let (stored, fault) = state.ledger.stored(key, token, now, hard);
            state.may_be_stored(row, hard);
            new = stored;
            (if stored { Kind::Stored } else { Kind::StoredRepeat }, fault)
        });
        if new {
            self.notify(key, &Change::Published);
        }
        Ok(answer)
    }

    pub(crate) fn invalidate(&self, key: usize, name: &str) -> Result<Invalidated, BackendError> {
        let answer = ready(self.store.invalidate(name))?;
        self.enter(key, |state, now| {
            state.ledger.invalidated(key, now);
            (Kind::Invalidated, None)
        });
        self.notify(key, &Change::Invalidated);
        Ok(answer)
    }

    pub(crate) fn abandon(&self, key: usize, request: Abandon<'_>) -> Result<Released, BackendError> {
        let answer = ready(self.store.abandon(request))?;
        let freed = answer == Released::Freed;
        self.enter(key, |state, now| {
            if freed {
                (Kind::Freed, state.ledger.freed(key, number(&request.token), now))
            } else {
                (Kind::NotOwned, None)
            }
        });
        if freed {
            let failure = request.failure.map(Into::into);
            self.notify(key, &Change::Abandoned { grant: request.token, failure });
        }
        Ok(answer)
    }
}

/// In-process stores answer at once.
pub(crate) fn ready<T>(step: impl Future<Output = T>) -> T {
    match pin!(step).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the store behind the network does not answer at once"),
    }
}
