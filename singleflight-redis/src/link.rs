//! The data connections: dialled, watched over and dialled again, without a caller ever waiting for more than one
//! answer's time-out.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::{Pipeline, RedisError, Value};
use singleflight_core::BackendError;
use singleflight_core::link::Link;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::connection::Connection;
use crate::dial::{Backoff, Dialer};
use crate::error::{self, Loss};
use crate::health::Health;
use crate::keys::Keyspace;
use crate::refusal::{ConnectError, Refusal};
use crate::scripts::Run;
use crate::steps;
use crate::ttls::Ttls;

/// All data connections.
pub(crate) struct Lines {
    pub(crate) link: Link,
    pub(crate) keys: Keyspace,
    pub(crate) ttls: Ttls,
    dialer: Arc<Dialer>,
    slots: Box<[watch::Sender<State>]>,
    next: AtomicUsize,
    #[cfg(feature = "cluster")]
    ailing: Option<crate::ailing::Ailing>,
}

/// What becomes of one connection.
#[derive(Clone, Debug)]
enum State {
    /// Just lost, or not there yet; a first attempt is under way.
    Dialling,
    Up(Live),
    /// The last attempt failed, for this reason; or what was there was of no use.
    Down(Option<Arc<ConnectError>>),
}

impl State {
    fn is_down(&self) -> bool {
        matches!(self, Self::Down(_))
    }

    fn why_down(&self) -> Option<Arc<ConnectError>> {
        match self {
            Self::Down(why) => why.clone(),
            _ => None,
        }
    }

    /// Whether it is known whether there is a connection.
    fn is_settled(&self) -> bool {
        match self {
            Self::Up(live) => !live.health.is_lost(),
            Self::Down(_) => true,
            Self::Dialling => false,
        }
    }
}

/// A connection in use.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    connection: Connection,
    health: Arc<Health>,
    /// How long an answer may take.
    response: Duration,
}

/// A connection, and where its end will be told.
pub(crate) type Dialled = (Live, mpsc::Receiver<Loss>);

impl Live {
    /// Sends commands and gives their answers, errors among them.
    async fn ask(&mut self, commands: &Pipeline, repeats: bool) -> Result<Vec<Value>, RedisError> {
        // One that heals has nodes that are answered each for itself, and does its own waiting.
        let heals = self.connection.heals();
        let sent = pin!(self.connection.send(commands, repeats));
        if heals {
            let answers = sent.await;
            self.health.note_of_many(&answers);
            return answers;
        }
        let answers = self.health.wait_for(self.response, sent).await;
        self.health.note(&answers);
        answers
    }
}

impl Lines {
    pub(crate) fn new(dialer: Arc<Dialer>, keys: Keyspace, connections: usize) -> Self {
        let slots = (0..connections.max(1)).map(|_| watch::Sender::new(State::Dialling)).collect();
        Self {
            #[cfg(feature = "cluster")]
            ailing: dialer.is_cluster().then(Default::default),
            link: Link::new(),
            keys,
            ttls: Ttls::new(),
            dialer,
            slots,
            next: AtomicUsize::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn address(&self) -> &str {
        self.dialer.address()
    }

    /// Sends commands for a name on one of the connections and gives their answers, errors among them.
    ///
    /// A connection that was cut is often one of a server that is well: the commands are sent once more on the next
    /// one. Where one is cut the others often are, too, and only a use shows it. One that heals itself has sent them again
    /// already.
    pub(crate) async fn ask(&self, name: &str, commands: &Pipeline) -> Result<Vec<Value>, BackendError> {
        #[cfg(feature = "cluster")]
        if let Some(ailing) = &self.ailing {
            let slot = ailing.admit(name)?;
            return ailing.judge(slot, self.live().await?.ask(commands, true).await);
        }
        #[cfg(not(feature = "cluster"))]
        let _ = name;
        for _ in 0..self.slots.len() {
            match self.live().await?.ask(commands, true).await {
                Err(error) if error::classify(&error).1 == Some(Loss::Cut) => {}
                answers => return answers.map_err(error::failed),
            }
        }
        self.live().await?.ask(commands, true).await.map_err(error::failed)
    }

    /// Sends commands once, and never again: if the connection is cut, whether they were done is not known.
    async fn ask_once(&self, name: &str, commands: &Pipeline) -> Result<Vec<Value>, BackendError> {
        #[cfg(feature = "cluster")]
        if let Some(ailing) = &self.ailing {
            let slot = ailing.admit(name)?;
            return ailing.judge(slot, self.live().await?.ask(commands, false).await);
        }
        #[cfg(not(feature = "cluster"))]
        let _ = name;
        self.live().await?.ask(commands, false).await.map_err(|error| match error::classify(&error).1 {
            Some(Loss::Cut) => error::unanswered(error),
            _ => error::failed(error),
        })
    }

    /// Runs a script and gives its answer.
    pub(crate) async fn run(&self, mut run: Run<'_>) -> Result<Value, BackendError> {
        let (name, repeats) = (run.name(), run.repeats());
        let ask = async |commands| match repeats {
            true => self.ask(name, &commands).await,
            false => self.ask_once(name, &commands).await,
        };
        let mut answers = ask(run.named()).await?;
        let mut answer = answers.pop();
        if matches!(&answer, Some(Value::ServerError(error)) if error.code() == "NOSCRIPT") {
            answer = ask(run.whole()).await?.pop();
        }
        match (answers.pop(), answer) {
            (Some(Value::ServerError(error)), _) | (_, Some(Value::ServerError(error))) => {
                Err(error::answered(&error))
            }
            (_, Some(answer)) => Ok(answer),
            (_, None) => Err(error::unexpected()),
        }
    }

    /// A connection that is not known to be lost, each in turn.
    ///
    /// One that was up is dialled again at once; where there is no other, calls wait for that as long as for an answer.
    async fn live(&self) -> Result<Live, BackendError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let (before, from) = self.slots.split_at(turn % self.slots.len());
        let up = || {
            from.iter().chain(before).find_map(|slot| match &*slot.borrow() {
                State::Up(live) if !live.health.is_lost() => Some(live.clone()),
                _ => None,
            })
        };
        if let Some(live) = up() {
            return Ok(live);
        }
        let search = async {
            // The one waited for may be the one that fails: then there are the others.
            while let Some(slot) = from.iter().chain(before).find(|slot| !slot.borrow().is_down()) {
                let _ = slot.subscribe().wait_for(State::is_settled).await;
                if let Some(live) = up() {
                    return Ok(live);
                }
            }
            Err(error::down(from[0].borrow().why_down()))
        };
        timeout(self.dialer.response(), search).await.unwrap_or_else(|_| Err(error::down(None)))
    }

    /// Dials a connection.
    pub(crate) async fn dial(&self, check_role: bool) -> Result<Dialled, Refusal> {
        let (health, losses) = Health::new();
        let ear = health.clone();
        let connection = self.dialer.dial(check_role, move |push| ear.hear(&push)).await?;
        Ok((Live { connection, health, response: self.dialer.response() }, losses))
    }

    /// Follows the primary that sentinels name, for ever; ends at once where nobody names one.
    pub(crate) async fn follow(self: Arc<Self>) {
        self.dialer.follow().await;
    }

    /// Keeps one connection, for ever.
    pub(crate) async fn keep(self: Arc<Self>, at: usize, first: Option<Dialled>) {
        let mut backoff = Backoff::new();
        let mut next = first;
        let mut check_role = false;
        loop {
            let mut moves = self.dialer.moves();
            let dialled = match next.take() {
                Some(first) => Ok(first),
                None => self.dial(check_role).await,
            };
            let (denied, why) = match dialled {
                Ok((live, mut losses)) => {
                    let (since, health) = (Instant::now(), live.health.clone());
                    self.slots[at].send_replace(State::Up(live));
                    self.restore().await;
                    let loss = tokio::select! {
                        loss = losses.recv() => loss.unwrap_or(Loss::Cut),
                        () = moves.next() => {
                            health.lose(Loss::ReadOnly);
                            Loss::ReadOnly
                        }
                    };
                    check_role = loss == Loss::ReadOnly;
                    // What still is of some use is used until its successor is there.
                    if !health.is_lost() {
                        if !backoff.lasted(since.elapsed()) {
                            sleep(backoff.next(false)).await;
                        }
                        continue;
                    }
                    // Dialled again at once, unless it was of no use to anybody: that would be a tight loop.
                    if health.has_served() {
                        backoff = Backoff::new();
                    }
                    if loss != Loss::Denied && backoff.lasted(since.elapsed()) {
                        self.slots[at].send_replace(State::Dialling);
                        continue;
                    }
                    (loss == Loss::Denied, None)
                }
                Err(refusal) => {
                    (refusal.is_denied(), Some(Arc::new(ConnectError::dial(self.address(), refusal))))
                }
            };
            self.slots[at].send_replace(State::Down(why));
            self.note_down();
            sleep(backoff.next(denied)).await;
        }
    }

    /// Says that the link is down if no connection is left.
    fn note_down(&self) {
        if self.slots.iter().all(|slot| slot.borrow().is_down()) {
            self.link.down(Instant::now().into_std());
        }
    }

    /// Says that the link is up, once the invalidations that could not be sent have been.
    async fn restore(&self) {
        while !self.link.up() {
            if !self.send_unsent().await {
                return;
            }
        }
    }

    /// Sends the invalidations that could not be sent; `false` if they still cannot.
    pub(crate) async fn send_unsent(&self) -> bool {
        let unsent = self.link.unsent();
        for key in &unsent {
            // Whatever the error says: the connection's keeper hears of a loss, and all is tried again.
            if steps::invalidate(self, key).await.is_err() {
                return false;
            }
            self.link.sent(key);
        }
        // The link may have been down for nothing else.
        unsent.is_empty() || self.link.up()
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("address", &self.address())
            .field("connections", &self.slots.len())
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;
    use tokio::task::yield_now;

    use super::*;
    use crate::dial::Patience;
    use crate::keys::PREFIX;
    use crate::refusal::Whom;
    use crate::target::Servers;

    #[tokio::test]
    async fn a_call_waits_for_the_connections_that_are_left() {
        let hour = std::time::Duration::from_secs(3600);
        let info = "redis://127.0.0.1:1".into_connection_info().unwrap();
        let patience = Patience { response: hour, dial: hour };
        let dialer = Dialer::new(Servers::One(Box::new(info)), String::new(), patience).unwrap();
        let lines = Arc::new(Lines::new(Arc::new(dialer), Keyspace::new(PREFIX).unwrap(), 2));
        let call = tokio::spawn({
            let lines = lines.clone();
            async move { lines.live().await }
        });
        yield_now().await;
        lines.slots[0].send_replace(State::Down(None));
        yield_now().await;
        assert!(!call.is_finished(), "the other is still being dialled");
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into();
        let refusal = Refusal { whom: Whom::Server, tls: false, error };
        let why = Some(Arc::new(ConnectError::dial("here", refusal)));
        lines.slots.iter().for_each(|slot| drop(slot.send_replace(State::Down(why.clone()))));
        let error = call.await.unwrap().unwrap_err();
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.to_string().contains("the server at here cannot be reached"), "{source}");
    }
}
