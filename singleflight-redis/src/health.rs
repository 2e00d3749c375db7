//! What is known of a connection, and when it is not believed in any more.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::error::{self, Loss};

/// So many time-outs in a row, and the connection is not believed in any more.
const TIMEOUTS: u32 = 3;
/// Where a connection is one to many nodes others answer meanwhile: there, so many failures within this time.
const TROUBLE: Duration = Duration::from_secs(10);

/// What is known of a connection.
#[derive(Debug)]
pub(crate) struct Health {
    lost: AtomicBool,
    /// Something has been answered.
    served: AtomicBool,
    timeouts: AtomicU32,
    trouble: Mutex<Trouble>,
    losses: mpsc::Sender<Loss>,
}

/// Failures of one node or another.
#[derive(Debug)]
struct Trouble {
    failures: u32,
    since: Instant,
}

impl Health {
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<Loss>) {
        // The first loss is the one that counts; later ones find the channel full.
        let (sender, losses) = mpsc::channel(1);
        let flag = || AtomicBool::new(false);
        let trouble = Mutex::new(Trouble { failures: 0, since: Instant::now() });
        let health =
            Self { lost: flag(), served: flag(), timeouts: AtomicU32::new(0), trouble, losses: sender };
        (Arc::new(health), losses)
    }

    /// The connection is of no further use.
    pub(crate) fn lose(&self, loss: Loss) {
        self.lost.store(true, Ordering::Relaxed);
        let _ = self.losses.try_send(loss);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether something has been answered.
    pub(crate) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// Hears of the connection's end from the connection itself.
    pub(crate) fn hear(&self, push: &PushInfo) {
        if push.kind == PushKind::Disconnection {
            self.lose(Loss::Cut);
        }
    }

    /// Notes what came of some commands on a connection to one server.
    pub(crate) fn note(&self, answers: &Result<Vec<Value>, RedisError>) {
        match answers {
            Ok(answers) => {
                self.note_served();
                if self.timeouts.load(Ordering::Relaxed) != 0 {
                    self.timeouts.store(0, Ordering::Relaxed);
                }
                for loss in losses(answers) {
                    self.lose(loss);
                }
            }
            Err(error) if error.is_timeout() => {
                if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= TIMEOUTS {
                    self.lose(Loss::Unresponsive);
                }
            }
            Err(error) => {
                if let (_, Some(loss)) = error::classify(error) {
                    self.lose(loss);
                }
            }
        }
    }

    /// The same for a connection to many nodes, which dials by itself those that it has lost, and finds those that were
    /// promoted.
    ///
    /// It takes no silence for a loss, however long. So a new one is made when a node fails again and again, and this
    /// one used until then, for the keys of the other nodes.
    pub(crate) fn note_of_many(&self, answers: &Result<Vec<Value>, RedisError>) {
        match answers {
            Ok(answers) => {
                self.note_served();
                if losses(answers).any(|loss| loss == Loss::Denied) {
                    self.lose(Loss::Denied);
                }
            }
            Err(error) => match error::classify(error) {
                (_, Some(Loss::Denied)) => self.lose(Loss::Denied),
                (_, Some(Loss::Cut)) => self.note_trouble(),
                _ if error.is_timeout() => self.note_trouble(),
                _ => {}
            },
        }
    }

    fn note_trouble(&self) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.since.elapsed() > TROUBLE {
            trouble.failures = 0;
        }
        if trouble.failures == 0 {
            trouble.since = Instant::now();
        }
        trouble.failures += 1;
        if trouble.failures >= TIMEOUTS {
            trouble.failures = 0;
            let _ = self.losses.try_send(Loss::Unresponsive);
        }
    }

    fn note_served(&self) {
        // Looks before it writes: all calls share this line of memory.
        if !self.served.load(Ordering::Relaxed) {
            self.served.store(true, Ordering::Relaxed);
        }
    }
}

/// What answers say of the connection.
fn losses(answers: &[Value]) -> impl Iterator<Item = Loss> {
    answers.iter().filter_map(|answer| match answer {
        Value::ServerError(error) => error::classify_answer(error).1,
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence() -> Result<Vec<Value>, RedisError> {
        Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into())
    }

    #[tokio::test(start_paused = true)]
    async fn one_silent_node_among_many_is_noticed_while_others_answer() {
        let (health, mut losses) = Health::new();
        for _ in 0..TIMEOUTS {
            assert!(losses.try_recv().is_err());
            health.note_of_many(&silence());
            health.note_of_many(&Ok(Vec::new()));
        }
        assert_eq!(losses.try_recv(), Ok(Loss::Unresponsive));
        assert!(!health.is_lost(), "the others are still of use");
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_out_now_and_then_is_no_trouble() {
        let (health, mut losses) = Health::new();
        for _ in 0..3 * TIMEOUTS {
            health.note_of_many(&silence());
            tokio::time::advance(TROUBLE).await;
        }
        assert!(losses.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_server_that_answers_between_time_outs_is_believed_in() {
        let (health, mut losses) = Health::new();
        for _ in 0..TIMEOUTS {
            health.note(&silence());
            health.note(&Ok(Vec::new()));
        }
        assert!(losses.try_recv().is_err());
        (0..TIMEOUTS).for_each(|_| health.note(&silence()));
        assert_eq!(losses.try_recv(), Ok(Loss::Unresponsive));
        assert!(health.is_lost());
    }
}
