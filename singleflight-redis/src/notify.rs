//! What becomes of keys, for those who wait: one connection of its own for all subscriptions of this process.
//!
//! A channel is subscribed to from its first watcher until a while after its last. One task sends every `SUBSCRIBE` and
//! `UNSUBSCRIBE` and awaits the answer before the next, so that a late `UNSUBSCRIBE` cannot end the next watcher's
//! subscription. Messages go to the watchers straight from the connection.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisError, Value};
use singleflight_core::BackendError;
use singleflight_core::backend::{Change, Watch};
use singleflight_core::error::BackendErrorKind;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::dial::{Backoff, Dialer};
use crate::error;
use crate::feed::{Feeds, Task};
use crate::health::Health;
use crate::keys::Keyspace;
use crate::watch::{RedisWatch, change};

/// A channel nobody watches is kept so long, since keys that were waited for are often waited for again.
const LINGER: Duration = Duration::from_secs(1);
/// While someone waits and nothing is heard, the server is asked so often whether it is still there: a connection can
/// die without a word, and with it every message.
const QUIET: Duration = Duration::from_secs(1);
/// Channels in one command, at most.
const BATCH: usize = 256;
/// Changes that a watcher may lag behind before it is told that it missed some.
const BACKLOG: usize = 16;

/// All subscriptions of one backend.
pub(crate) struct Hub {
    dialer: Arc<Dialer>,
    keys: Keyspace,
    board: Mutex<Board>,
    /// There is something to subscribe to, or to end.
    work: Notify,
}

#[derive(Default)]
struct Board {
    channels: HashMap<String, Channel>,
    feeds: Feeds,
    /// The last attempt to connect failed.
    down: bool,
}

struct Channel {
    changes: broadcast::Sender<Change>,
    phase: watch::Sender<Phase>,
    watchers: usize,
    /// Since when nobody watches.
    idle: Instant,
    /// Its subscription was lost, and changes with it.
    missed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Wanted,
    Confirmed,
    Failed(BackendErrorKind),
}

impl Channel {
    fn new() -> Self {
        Self {
            changes: broadcast::Sender::new(BACKLOG),
            phase: watch::Sender::new(Phase::Wanted),
            watchers: 0,
            idle: Instant::now(),
            missed: false,
        }
    }
}

impl Hub {
    pub(crate) fn new(dialer: Arc<Dialer>, keys: Keyspace) -> Self {
        Self { dialer, keys, board: Mutex::default(), work: Notify::new() }
    }

    /// Begins to listen on a channel; returns when the server has confirmed it.
    pub(crate) async fn watch(self: &Arc<Self>, channel: String) -> Result<Box<dyn Watch>, BackendError> {
        let (watch, mut phase) = self.join(channel)?;
        self.work.notify_one();
        let settled = timeout(self.dialer.response(), phase.wait_for(|phase| *phase != Phase::Wanted)).await;
        match settled.map(|settled| settled.map(|phase| *phase)) {
            Ok(Ok(Phase::Confirmed)) => Ok(Box::new(watch)),
            Ok(Ok(Phase::Failed(kind))) => Err(BackendError::new(kind, "Redis refuses the subscription")),
            Ok(_) => Err(error::down(None)),
            Err(_) => {
                let message = "Redis did not confirm the subscription in time";
                Err(BackendError::new(BackendErrorKind::Timeout, message))
            }
        }
    }

    fn join(self: &Arc<Self>, name: String) -> Result<(RedisWatch, watch::Receiver<Phase>), BackendError> {
        let mut board = self.lock();
        if board.down {
            return Err(error::down(None));
        }
        let channel = board.channels.entry(name.clone()).or_insert_with(Channel::new);
        channel.watchers += 1;
        if matches!(*channel.phase.borrow(), Phase::Failed(_)) {
            channel.phase.send_replace(Phase::Wanted);
        }
        let (changes, phase) = (channel.changes.subscribe(), channel.phase.subscribe());
        Ok((RedisWatch::new(self.clone(), name, changes), phase))
    }

    pub(crate) fn leave(&self, name: &str) {
        let mut board = self.lock();
        let Some(channel) = board.channels.get_mut(name) else { return };
        channel.watchers -= 1;
        if channel.watchers == 0 {
            channel.idle = Instant::now();
            drop(board);
            self.work.notify_one();
        }
    }

    /// Does something with the feeds, of which there is then something to be told to the server.
    pub(crate) fn feeds<T>(&self, with: impl FnOnce(&mut Feeds) -> T) -> T {
        let done = with(&mut self.lock().feeds);
        self.work.notify_one();
        done
    }

    /// Hands a message to those who watch its channel.
    fn hear(&self, push: &PushInfo) {
        if push.kind == PushKind::PMessage {
            self.lock().feeds.hear(&self.keys, &push.data);
        }
        if push.kind != PushKind::Message {
            return;
        }
        let [Value::BulkString(channel), Value::BulkString(message)] = &push.data[..] else { return };
        let Ok(channel) = std::str::from_utf8(channel) else { return };
        if let Some(channel) = self.lock().channels.get(channel) {
            // An error only says that nobody watches any more.
            let _ = channel.changes.send(change(message));
        }
    }

    /// Keeps the connection, for ever, from the first watcher on.
    pub(crate) async fn keep(self: Arc<Self>) {
        let mut backoff = Backoff::new();
        while self.is_unused() {
            self.work.notified().await;
        }
        loop {
            let since = Instant::now();
            let served = self.serve().await;
            self.cut();
            let at_once = backoff.lasted(since.elapsed());
            match served {
                Ok(()) if at_once => continue,
                // There is a server: those who begin to watch may wait for the next attempt.
                Ok(()) => {}
                Err(_) => self.set_down(true),
            }
            sleep(backoff.next(false)).await;
        }
    }

    /// Dials, and serves until the connection is lost; `Err` if there never was one.
    async fn serve(self: &Arc<Self>) -> Result<(), RedisError> {
        let (health, mut losses) = Health::new();
        let mut moves = self.dialer.moves();
        let (hub, ear) = (self.clone(), health.clone());
        let mut connection = self
            .dialer
            .listen(move |push| {
                ear.hear(&push);
                hub.hear(&push);
            })
            .await
            .map_err(|refusal| refusal.error)?;
        self.set_down(false);
        let mut heard = Instant::now();
        loop {
            let wanted = self.wanted();
            let (idle, look) = if wanted.is_empty() { self.idle() } else { Default::default() };
            let task = if wanted.is_empty() { self.lock().feeds.task() } else { None };
            if !wanted.is_empty() {
                match connection.subscribe(&wanted).await {
                    Ok(()) => self.confirm(&wanted),
                    Err(error) => match error::classify(&error) {
                        (kind @ BackendErrorKind::Refused, _) => self.refuse(&wanted, kind),
                        _ => return Ok(()),
                    },
                }
            } else if let Some(task) = task {
                if self.see_to(task, &mut connection).await.is_err() {
                    return Ok(());
                }
            } else if !idle.is_empty() {
                if connection.unsubscribe(&idle).await.is_err() {
                    return Ok(());
                }
            } else if self.is_heeded() && heard.elapsed() >= QUIET {
                if connection.send_packed_command(&redis::cmd("PING")).await.is_err() {
                    return Ok(());
                }
            } else {
                let quiet = self.is_heeded().then(|| heard + QUIET);
                let next = look.into_iter().chain(quiet).min();
                tokio::select! {
                    () = self.work.notified() => {}
                    () = until(next) => {}
                    _ = losses.recv() => return Ok(()),
                    () = moves.next() => return Ok(()),
                }
                continue;
            }
            heard = Instant::now();
        }
    }

    /// Tells the server of a pattern; the error is that it cannot be told.
    async fn see_to(&self, task: Task, connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
        match task {
            Task::Unsubscribe(pattern) => connection.punsubscribe(&*pattern).await,
            Task::Subscribe(pattern) => {
                let told = connection.psubscribe(&*pattern).await;
                let refused = |error| error::classify(error).0 == BackendErrorKind::Refused;
                let confirmed = match told {
                    Ok(()) => true,
                    Err(error) if refused(&error) => false,
                    Err(error) => return Err(error),
                };
                self.lock().feeds.settle(&pattern, confirmed);
                Ok(())
            }
        }
    }

    /// Whether there is nothing to connect for.
    fn is_unused(&self) -> bool {
        let board = self.lock();
        board.channels.is_empty() && board.feeds.is_empty()
    }

    /// Whether anybody would miss a message.
    fn is_heeded(&self) -> bool {
        let board = self.lock();
        !board.feeds.is_empty() || board.channels.values().any(|channel| channel.watchers > 0)
    }

    /// Channels to subscribe to.
    fn wanted(&self) -> Vec<String> {
        let board = self.lock();
        let wanted = |channel: &Channel| channel.watchers > 0 && *channel.phase.borrow() == Phase::Wanted;
        board
            .channels
            .iter()
            .filter(|(_, channel)| wanted(channel))
            .take(BATCH)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Takes out the channels that nobody has watched for a while, and says when to look again.
    ///
    /// Whoever watches one of them from now on finds none, and waits for a subscription that is sent after the end of
    /// this one.
    fn idle(&self) -> (Vec<String>, Option<Instant>) {
        let mut board = self.lock();
        let now = Instant::now();
        let (mut idle, mut next) = (Vec::new(), None::<Instant>);
        board.channels.retain(|name, channel| {
            if channel.watchers > 0 {
                return true;
            }
            if idle.len() < BATCH && now >= channel.idle + LINGER {
                if *channel.phase.borrow() == Phase::Confirmed {
                    idle.push(name.clone());
                }
                return false;
            }
            let end = channel.idle + LINGER;
            next = Some(next.map_or(end, |next| next.min(end)));
            true
        });
        (idle, next)
    }

    fn confirm(&self, names: &[String]) {
        let mut board = self.lock();
        for name in names {
            if let Some(channel) = board.channels.get_mut(name) {
                channel.phase.send_replace(Phase::Confirmed);
                if std::mem::take(&mut channel.missed) {
                    // What was told while there was no subscription is to be looked for.
                    let _ = channel.changes.send(Change::Unknown);
                }
            }
        }
    }

    fn refuse(&self, names: &[String], kind: BackendErrorKind) {
        let mut board = self.lock();
        for name in names {
            if let Some(channel) = board.channels.get_mut(name) {
                channel.phase.send_replace(Phase::Failed(kind));
            }
        }
    }

    /// The connection is gone: everyone is to look, now and once the subscriptions are back.
    fn cut(&self) {
        let mut board = self.lock();
        board.feeds.cut();
        board.channels.retain(|_, channel| channel.watchers > 0);
        for channel in board.channels.values_mut() {
            if channel.phase.send_replace(Phase::Wanted) == Phase::Confirmed {
                channel.missed = true;
                let _ = channel.changes.send(Change::Unknown);
            }
        }
    }

    fn set_down(&self, down: bool) {
        let mut board = self.lock();
        board.down = down;
        if down {
            // Who waits for a first confirmation need not wait for the next attempt.
            for channel in board.channels.values().filter(|channel| !channel.missed) {
                channel.phase.send_replace(Phase::Failed(BackendErrorKind::Unavailable));
            }
        } else {
            for channel in board.channels.values() {
                channel.phase.send_replace(Phase::Wanted);
            }
        }
    }

    /// How many channels are kept, and how many watches.
    pub(crate) fn count(&self) -> (usize, usize) {
        let board = self.lock();
        (board.channels.len(), board.channels.values().map(|channel| channel.watchers).sum())
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channels, watches) = self.count();
        f.debug_struct("Hub").field("channels", &channels).field("watches", &watches).finish_non_exhaustive()
    }
}

/// Sleeps until then; for ever where there is nothing to wake up for.
async fn until(next: Option<Instant>) {
    match next {
        Some(next) => sleep_until(next).await,
        None => std::future::pending().await,
    }
}
