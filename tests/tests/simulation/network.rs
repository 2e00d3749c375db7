//! The way from one process to the backend: slow, lossy and sometimes cut, but one connection, so in order.
//!
//! A request that was sent reaches the backend whether or not its sender still waits, as it would over a socket.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Invalidated, LeaseBackend, Medium, Note, Publish, Published, Released,
    Renewed, Token, Watch,
};
use singleflight_core::entry::Entry;
use singleflight_core::error::{BackendError, BackendErrorKind};
use singleflight_core::link::Link;
use tokio::sync::oneshot;
use tokio::time::sleep_until;

use crate::event::Kind;
use crate::ledger::number;
use crate::listen::Listening;
use crate::plan::Net;
use crate::server::{Fate, Server, ready};
use crate::world::World;

/// One process's connection.
pub(crate) struct Remote {
    server: Server,
    net: Net,
    process: usize,
    link: Link,
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

impl Remote {
    /// Sends what has no answer; whether it will arrive.
    fn send(&self, name: &str, step: impl FnOnce(Server, usize) + Send + 'static) -> bool {
        let (world, key) = (&self.server.world, key_number(name));
        let now = world.now();
        let Some(Fate { arrives: Some(arrives), .. }) = self.server.fate(now, false) else { return false };
        let lost = world.lock().processes[self.process].rng.u64(0..1000) < self.net.posts_lost;
        if lost {
            world.note(Kind::PostLost, self.process, key);
            return false;
        }
        let server = self.server.clone();
        world.at(arrives, move || step(server, key));
        true
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
        let despite = request.despite_cooldown;
        let step = move |server: &Server, key| {
            server.acquire(
                key,
                Acquire::new(&name, token, ttl, kind)
                    .forced(force)
                    .waited_on(waited_on)
                    .despite_cooldown(despite),
            )
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
        self.ask(key, move |server, key| server.invalidate(key, &name)).await
    }

    fn post(&self, note: Note) {
        match note {
            Note::Abandon { key: name, token, failure, cooldown } => {
                self.server.world.lock().ledger.given_up(number(&token));
                self.send(&name.clone(), move |server, key| {
                    let _ = server.abandon(key, abandon(&name, token, failure.as_deref(), cooldown));
                });
            }
            Note::Invalidate { key: name } => {
                let key = key_number(&name);
                let version = self.server.world.lock().keys[key].version;
                let sent = self.send(&name.clone(), move |server, key| {
                    let _ = server.invalidate(key, &name);
                    server.world.lock().arrived(key, version);
                });
                if sent {
                    // One connection: whatever this process asks from now on is asked after it.
                    self.server.world.lock().forgotten(self.process, key, version);
                }
            }
            _ => {}
        }
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
