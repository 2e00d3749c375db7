//! Callers of one key, and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::JoinHandle;

use super::LIMIT;
use crate::load::{Answer, Failure, Load, fresh_key};
use crate::peer::AnyPeer;

/// What became of callers.
#[derive(Debug, Default, Serialize)]
pub struct Tally {
    /// Got a value.
    pub answered: u64,
    /// Got an error.
    pub errors: u64,
    /// Their tasks panicked.
    pub panicked: u64,
    /// Their tasks were aborted by the scene.
    pub aborted: u64,
    /// Had no answer within the limit.
    pub hung: u64,
    /// From the scene's event to the last answer, in milliseconds.
    pub last_ms: u64,
    /// One of the errors, in its own words.
    pub error: Option<String>,
}

/// A key, and everybody who asks for it.
pub(super) struct Crowd {
    peer: Arc<dyn AnyPeer>,
    pub(super) key: u64,
    loads: Arc<AtomicU64>,
    callers: Vec<JoinHandle<(Answer, Instant)>>,
}

impl Crowd {
    pub(super) fn new(peer: Arc<dyn AnyPeer>) -> Self {
        Self { peer, key: fresh_key(), loads: Arc::default(), callers: Vec::new() }
    }

    pub(super) fn peer(&self) -> Arc<dyn AnyPeer> {
        Arc::clone(&self.peer)
    }

    /// A load that is counted when it begins, and takes so long.
    pub(super) fn load(&self, takes: Duration, end: impl Fn(u64) -> Answer + Send + Sync + 'static) -> Load {
        let loads = Arc::clone(&self.loads);
        let end = Arc::new(end);
        Load::of(move || {
            let number = loads.fetch_add(1, Ordering::SeqCst) + 1;
            let end = Arc::clone(&end);
            async move {
                tokio::time::sleep(takes).await;
                end(number)
            }
        })
    }

    pub(super) fn loads(&self) -> u64 {
        self.loads.load(Ordering::SeqCst)
    }

    /// So many callers more, who bring this load.
    pub(super) fn call(&mut self, callers: usize, load: &Load) {
        for _ in 0..callers {
            let call = self.peer().get(self.key, load.clone());
            self.callers.push(tokio::spawn(async move { (call.await, Instant::now()) }));
        }
    }

    /// Waits until a load has begun.
    pub(super) async fn begun(&self) {
        while self.loads() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Aborts the caller who came first.
    pub(super) fn abort_first(&self) {
        self.callers[0].abort();
    }

    /// What has become of them all by the limit, which begins with the event.
    pub(super) async fn tally(&mut self, event: Instant) -> Tally {
        let mut tally = Tally::default();
        let deadline = event + LIMIT;
        for mut caller in self.callers.drain(..) {
            match tokio::time::timeout_at(deadline.into(), &mut caller).await {
                Ok(Ok((answer, at))) => tally.add(answer, at.saturating_duration_since(event)),
                Ok(Err(error)) if error.is_panic() => tally.panicked += 1,
                Ok(Err(_)) => tally.aborted += 1,
                Err(_) => {
                    caller.abort();
                    tally.hung += 1;
                }
            }
        }
        tally
    }

    /// One call more, in a task of its own so that it may panic: what it got, in words.
    pub(super) async fn afterwards(&self) -> String {
        let mut call = tokio::spawn(self.peer().get(self.key, Load::Ready(LATER)));
        match tokio::time::timeout(LIMIT, &mut call).await {
            Ok(Ok(Ok(LATER))) => "a later call loads".to_owned(),
            Ok(Ok(Ok(_))) => "a later call finds the value".to_owned(),
            Ok(Ok(Err(error))) => format!("a later call fails: {error}"),
            Ok(Err(_)) => "a later call panics".to_owned(),
            Err(_) => {
                call.abort();
                "a later call hangs".to_owned()
            }
        }
    }
}

/// What is loaded by a call after the scene.
const LATER: u64 = u64::MAX;

impl Tally {
    pub(super) fn add(&mut self, answer: Answer, after: Duration) {
        self.last_ms = self.last_ms.max(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        match answer {
            Ok(_) => self.answered += 1,
            Err(error) => {
                self.errors += 1;
                // The words of those who waited tell more than the load's own.
                if !matches!(error, Failure::Load) || self.error.is_none() {
                    self.error = Some(error.to_string());
                }
            }
        }
    }
}
