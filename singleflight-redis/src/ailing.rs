//! Slots of a cluster whose node is away, while the others are well: only their keys are to go without it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::cluster_routing::Slot;
use redis::{RedisError, Value};
use singleflight_core::BackendError;
use singleflight_core::error::BackendErrorKind;
use tokio::time::Instant;

use crate::error::{self, Loss};

/// A slot that is away is tried again so often, by one call; the others are told at once.
const PAUSE: Duration = Duration::from_millis(250);

/// A cluster of which a node answered before a time-out is there for so long after it; then another must have answered.
const THERE: Duration = Duration::from_secs(1);

/// Slots that are away, and when each may be tried again.
#[derive(Debug, Default)]
pub(crate) struct Ailing {
    /// Whether there are any: read on every call.
    any: AtomicBool,
    slots: Mutex<HashMap<Slot, Instant>>,
    /// Whether a node has answered since the last time-out.
    answered: AtomicBool,
    /// Until when the time-outs are those of some nodes, as far as is known.
    there_until: Mutex<Option<Instant>>,
}

impl Ailing {
    /// The slot of a name, if a step for it may be tried now.
    pub(crate) fn admit(&self, name: &str) -> Result<Slot, BackendError> {
        let slot = Slot::for_key(name);
        if !self.any.load(Ordering::Relaxed) {
            return Ok(slot);
        }
        let now = Instant::now();
        match self.lock().get_mut(&slot) {
            Some(again) if now < *again => Err(away()),
            Some(again) => {
                *again = now + PAUSE;
                Ok(slot)
            }
            None => Ok(slot),
        }
    }

    /// Notes what came of a step; one that failed for its slot alone is an error of this step, not of the cluster.
    pub(crate) fn judge(
        &self,
        slot: Slot,
        answers: Result<Vec<Value>, RedisError>,
    ) -> Result<Vec<Value>, BackendError> {
        let (failure, loss) = match answers {
            Ok(answers) => match answers.iter().find_map(absence) {
                Some(found) => found,
                None => {
                    // Looks before it writes: all calls share this line of memory.
                    if !self.answered.load(Ordering::Relaxed) {
                        self.answered.store(true, Ordering::Relaxed);
                    }
                    self.serve(slot);
                    return Ok(answers);
                }
            },
            // Sent from node to node: while its primary is away, a replica names that.
            Err(error) if error.redirect_node().is_some() => {
                self.fail(slot);
                return Err(away().with_source(error));
            }
            Err(error) => {
                let loss = error::classify(&error).1;
                (error::failed(error), loss)
            }
        };
        match failure.kind() {
            // Nobody lets us in: that is no matter of slots.
            BackendErrorKind::Unavailable if loss == Some(Loss::Denied) => Err(failure),
            BackendErrorKind::Unavailable => {
                self.fail(slot);
                Err(away().with_source(failure))
            }
            BackendErrorKind::Timeout => {
                self.fail(slot);
                // A node that hangs is no reason to go without the others. Nothing is lost by not telling a time-out: what
                // was not answered is not to be asked again of this node either.
                Err(if self.others_are_there() { away().with_source(failure) } else { failure })
            }
            _ => Err(failure),
        }
    }

    /// Whether nodes have answered of late, so that a time-out is that of some and not of all.
    ///
    /// Of a burst of time-outs only the first has had an answer before it, hence the time.
    fn others_are_there(&self) -> bool {
        let now = Instant::now();
        let mut until = self.there_until.lock().unwrap_or_else(PoisonError::into_inner);
        if self.answered.swap(false, Ordering::Relaxed) {
            *until = Some(now + THERE);
        }
        until.is_some_and(|until| now < until)
    }

    fn fail(&self, slot: Slot) {
        let mut slots = self.lock();
        slots.insert(slot, Instant::now() + PAUSE);
        self.any.store(true, Ordering::Relaxed);
    }

    fn serve(&self, slot: Slot) {
        if self.any.load(Ordering::Relaxed) {
            let mut slots = self.lock();
            slots.remove(&slot);
            // Under the lock, so that it does not hide one that fails meanwhile.
            self.any.store(!slots.is_empty(), Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Slot, Instant>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer says of its node, if that it does not serve.
fn absence(answer: &Value) -> Option<(BackendError, Option<Loss>)> {
    let Value::ServerError(error) = answer else { return None };
    let (kind, loss) = error::classify_answer(error);
    (kind == BackendErrorKind::Unavailable).then(|| (error::answered(error), loss))
}

fn away() -> BackendError {
    BackendError::new(BackendErrorKind::Refused, "the node of the cluster that has this key is away")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut() -> Result<Vec<Value>, RedisError> {
        Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_is_away_is_tried_by_one_call_at_a_time() {
        let ailing = Ailing::default();
        let slot = ailing.admit("sf:{a}v").unwrap();
        let failure = ailing.judge(slot, cut()).unwrap_err();
        assert_eq!(failure.kind(), BackendErrorKind::Refused, "the cluster is there");
        assert!(ailing.admit("sf:{a}l").is_err(), "all names of the key are of the slot");
        assert!(ailing.admit("sf:{b}v").is_ok(), "other keys are well");
        tokio::time::advance(PAUSE).await;
        assert!(ailing.admit("sf:{a}v").is_ok());
        assert!(ailing.admit("sf:{a}v").is_err(), "one tries already");
        ailing.judge(slot, Ok(Vec::new())).unwrap();
        assert!(ailing.admit("sf:{a}v").is_ok());
        assert!(!ailing.any.load(Ordering::Relaxed));
    }

    fn silence() -> Result<Vec<Value>, RedisError> {
        Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_out_is_the_clusters_only_where_no_node_answers() {
        let ailing = Ailing::default();
        let (sick, well) = (ailing.admit("sick").unwrap(), ailing.admit("well").unwrap());
        let times_out = |ailing: &Ailing| ailing.judge(sick, silence()).unwrap_err().kind();
        assert_eq!(times_out(&ailing), BackendErrorKind::Timeout, "nobody has ever answered");
        for _ in 0..3 {
            ailing.judge(well, Ok(Vec::new())).unwrap();
            for _ in 0..5 {
                assert_eq!(times_out(&ailing), BackendErrorKind::Refused, "others do");
            }
            tokio::time::advance(2 * THERE).await;
        }
        assert_eq!(times_out(&ailing), BackendErrorKind::Timeout, "the last answer was long ago");
    }

    #[tokio::test]
    async fn who_is_not_let_in_is_told_so() {
        let ailing = Ailing::default();
        let slot = ailing.admit("k").unwrap();
        let denied = RedisError::from((redis::ErrorKind::AuthenticationFailed, "no"));
        assert_eq!(ailing.judge(slot, Err(denied)).unwrap_err().kind(), BackendErrorKind::Unavailable);
        assert!(ailing.admit("k").is_ok());
    }
}
