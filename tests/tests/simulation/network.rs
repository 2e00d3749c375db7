//! The way from one process to the backend: slow, lossy and sometimes cut, but one connection, so in order.
//!
//! A request that was sent reaches the backend whether or not its sender still waits, as it would over a socket.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Change, Invalidated, LeaseBackend, Medium, Note, Publish, Published,
    Released, Renewed, Token, Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::error::{BackendError, BackendErrorKind};
use singleflight_core::link::Link;
use tokio::sync::oneshot;
use tokio::time::sleep_until;

use crate::event::Kind;
use crate::ledger::{Fault, number};
use crate::listen::Listening;
use crate::plan::Net;
use crate::world::{State, World};

/// One process's connection.
pub(crate) struct Remote {
    server: Server,
    net: Net,
    process: usize,
    link: Link,
}

/// The backend behind the network, and the ledger beside it.
#[derive(Clone)]
struct Server {
    world: Arc<World>,
    store: Arc<dyn LeaseBackend>,
    net: Net,
    process: usize,
}

/// What becomes of one request.
struct Fate {
    arrives: Option<Duration>,
    back: Duration,
    answered: bool,
}

impl Remote {
    pub(crate) fn new(world: Arc<World>, store: Arc<dyn LeaseBackend>, net: Net, process: usize) -> Self {
        let server = Server { world, store, net, process };
        Self { server, net, process, link: Link::new() }
    }

    /// Sends one request and waits for its answer.
    async fn ask<T: Send + 'static>(
        &self,
        key: &str,
        step: impl FnOnce(&Server, usize) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let world = &self.server.world;
        let key = key_number(key);
        let now = world.now();
        let (sender, mut receiver) = oneshot::channel();
        let fate = self.server.fate(now, true);
        let Some(fate) = fate else {
            sleep_until(world.instant(now + Duration::from_millis(1))).await;
            return Err(BackendError::new(BackendErrorKind::Unavailable, "cut off"));
        };
        if let Some(arrives) = fate.arrives {
            let server = self.server.clone();
            world.at(arrives, move || server.serve(key, fate.back, fate.answered, sender, step));
        }
        let deadline = world.instant(now + Duration::from_millis(self.net.timeout));
        let mut timer = pin!(sleep_until(deadline));
        let mut lost = false;
        let answer = std::future::poll_fn(|cx| {
            if !lost {
                match pin!(&mut receiver).poll(cx) {
                    Poll::Ready(Ok(answer)) => return Poll::Ready(Some(answer)),
                    Poll::Ready(Err(_)) => lost = true,
                    Poll::Pending => {}
                }
            }
            timer.as_mut().poll(cx).map(|()| None)
        })
        .await;
        answer.unwrap_or_else(|| {
            world.note(Kind::TimedOut, self.process, key);
            Err(BackendError::new(BackendErrorKind::Timeout, "no answer"))
        })
    }
}

impl Server {
    /// Decides when a request arrives and whether its answer does; `None` where the process is cut off.
    fn fate(&self, now: Duration, probes: bool) -> Option<Fate> {
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
    fn serve<T: Send + 'static>(
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
    fn enter(&self, key: usize, what: impl FnOnce(&mut State, Duration) -> (Kind, Fault)) {
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
    fn notify(&self, key: usize, change: &Change) {
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

    fn acquire(&self, key: usize, request: Acquire<'_>) -> Result<Acquired, BackendError> {
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

    fn publish(&self, key: usize, request: Publish<'_>) -> Result<Published, BackendError> {
        let (token, hard) = (number(&request.token), request.hard_ttl);
        let answer = ready(self.store.publish(request))?;
        let mut new = false;
        self.enter(key, |state, now| {
            if answer != Published::Stored {
                return (Kind::Refused, None);
            }
            let (stored, fault) = state.ledger.stored(key, token, now, hard);
            new = stored;
            (if stored { Kind::Stored } else { Kind::StoredRepeat }, fault)
        });
        if new {
            self.notify(key, &Change::Published);
        }
        Ok(answer)
    }

    fn abandon(&self, key: usize, request: Abandon<'_>) -> Result<Released, BackendError> {
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

#[async_trait]
impl LeaseBackend for Remote {
    fn medium(&self) -> Medium {
        Medium::Bytes
    }

    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError> {
        let name = key.to_owned();
        if !self.link.is_up() {
            self.server.world.note(Kind::Probe, self.process, key_number(key));
        }
        self.ask(key, move |server, key| {
            server.enter(key, |_, _| (Kind::Read, None));
            ready(server.store.read(&name))
        })
        .await
    }

    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError> {
        let (name, token) = (request.key.to_owned(), request.token);
        let (ttl, kind, force, waited_on) = (request.ttl, request.kind, request.force, request.waited_on);
        let step = move |server: &Server, key| {
            server.acquire(key, Acquire::new(&name, token, ttl, kind).forced(force).waited_on(waited_on))
        };
        let answer = self.ask(request.key, step).await?;
        if answer == Acquired::Granted {
            self.server.world.lock().ledger.heard(number(&token));
        }
        Ok(answer)
    }

    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError> {
        self.server.world.lock().ledger.given_up(number(&request.token));
        let (name, token, payload) = (request.key.to_owned(), request.token, request.payload);
        let (stamp, soft, hard) = (request.stamp, request.soft_ttl, request.hard_ttl);
        let step = move |server: &Server, key| {
            server.publish(key, Publish::new(&name, token, payload, stamp, soft, hard))
        };
        self.ask(request.key, step).await
    }

    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError> {
        self.server.world.lock().ledger.given_up(number(&request.token));
        let (name, token, cooldown) = (request.key.to_owned(), request.token, request.cooldown);
        let failure = request.failure.map(str::to_owned);
        let step = move |server: &Server, key| {
            server.abandon(key, abandon(&name, token, failure.as_deref(), cooldown))
        };
        self.ask(request.key, step).await
    }

    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError> {
        let name = key.to_owned();
        let step = move |server: &Server, key| {
            let answer = ready(server.store.renew(&name, token, ttl))?;
            server.enter(key, |state, now| match answer {
                Renewed::Extended => (Kind::Extended, state.ledger.extended(key, number(&token), now, ttl)),
                _ => (Kind::RenewLost, None),
            });
            Ok(answer)
        };
        let answer = self.ask(key, step).await?;
        if answer == Renewed::Lost {
            self.server.world.lock().ledger.given_up(number(&token));
        }
        Ok(answer)
    }

    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError> {
        self.ask(key, |server, key| {
            let mut id = 0;
            server.enter(key, |state, _| {
                id = state.ledger.watch(server.process, key);
                (Kind::Watched, None)
            });
            Ok(Box::new(Listening { world: server.world.clone(), id }) as Box<dyn Watch>)
        })
        .await
    }

    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError> {
        let name = key.to_owned();
        self.ask(key, move |server, key| {
            let answer = ready(server.store.invalidate(&name))?;
            server.enter(key, |state, now| {
                state.ledger.invalidated(key, now);
                (Kind::Invalidated, None)
            });
            server.notify(key, &Change::Invalidated);
            Ok(answer)
        })
        .await
    }

    fn post(&self, note: Note) {
        let Note::Abandon { key: name, token, failure, cooldown } = note else { return };
        let (world, key) = (&self.server.world, key_number(&name));
        let now = world.now();
        world.lock().ledger.given_up(number(&token));
        let Some(Fate { arrives: Some(arrives), .. }) = self.server.fate(now, false) else { return };
        let lost = world.lock().processes[self.process].rng.u64(0..1000) < self.net.posts_lost;
        if lost {
            return world.note(Kind::PostLost, self.process, key);
        }
        let server = self.server.clone();
        world.at(arrives, move || {
            let _ = server.abandon(key, abandon(&name, token, failure.as_deref(), cooldown));
        });
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

fn abandon<'a>(key: &'a str, token: Token, failure: Option<&'a str>, cooldown: Duration) -> Abandon<'a> {
    let mut request = Abandon::new(key, token);
    (request.failure, request.cooldown) = (failure, cooldown);
    request
}

/// In-process stores answer at once.
fn ready<T>(step: impl Future<Output = T>) -> T {
    match pin!(step).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the store behind the network does not answer at once"),
    }
}

pub(crate) fn key_name(key: usize) -> &'static str {
    ["k0", "k1", "k2", "k3"][key]
}

fn key_number(name: &str) -> usize {
    name.strip_prefix('k').and_then(|n| n.parse().ok()).unwrap_or(0)
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("process", &self.process).finish_non_exhaustive()
    }
}
