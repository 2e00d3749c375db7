//! What is known of a connection, and when it is not believed in any more.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

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
    /// How many wait longer than usual, and what has been answered while somebody did.
    overdue: AtomicU32,
    answers: AtomicU32,
    trouble: Mutex<Trouble>,
    losses: mpsc::Sender<Loss>,
}

/// One who waits longer than usual.
struct Overdue<'a>(&'a Health);

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
        let number = || AtomicU32::new(0);
        let health = Self {
            lost: flag(),
            served: flag(),
            timeouts: number(),
            overdue: number(),
            answers: number(),
            trouble,
            losses: sender,
        };
        (Arc::new(health), losses)
    }

    /// Waits for an answer, up to `limit` of silence: while others are answered the server is well, and this answer is on
    /// its way behind theirs, which may be large. In all, up to four times `limit`.
    pub(crate) async fn wait_for<T>(
        &self,
        limit: Duration,
        mut answer: impl Future<Output = Result<T, RedisError>> + Unpin,
    ) -> Result<T, RedisError> {
        const LOOKS: u32 = 4;
        const LONGEST: u32 = 4;
        if let Ok(answer) = timeout(limit / LOOKS, &mut answer).await {
            return answer;
        }
        let _overdue = Overdue::begin(self);
        let (mut answers, mut silent) = (self.answers.load(Ordering::Relaxed), 1);
        for _ in 1..LOOKS * LONGEST {
            if let Ok(answer) = timeout(limit / LOOKS, &mut answer).await {
                return answer;
            }
            let before = std::mem::replace(&mut answers, self.answers.load(Ordering::Relaxed));
            silent = if answers == before { silent + 1 } else { 0 };
            if silent >= LOOKS {
                break;
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut).into())
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
        if self.overdue.load(Ordering::Relaxed) != 0 {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<'a> Overdue<'a> {
    fn begin(health: &'a Health) -> Self {
        health.overdue.fetch_add(1, Ordering::Relaxed);
        Self(health)
    }
}

impl Drop for Overdue<'_> {
    fn drop(&mut self) {
        self.0.overdue.fetch_sub(1, Ordering::Relaxed);
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
    use tokio::time::sleep;

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

    /// What a call finds that waits up to 100 ms while others are answered every `every` ms, up to `last`; its own answer
    /// comes after `own` ms. Gives what it got, and after how many ms.
    async fn waits(every: u64, last: u64, own: u64) -> (Option<u32>, u64) {
        let (health, _losses) = Health::new();
        let ms = Duration::from_millis;
        let others = {
            let health = health.clone();
            tokio::spawn(async move {
                for _ in 0..last / every {
                    sleep(ms(every)).await;
                    health.note(&Ok(Vec::new()));
                }
            })
        };
        let began = Instant::now();
        let own = std::pin::pin!(async {
            sleep(ms(own)).await;
            Ok(7)
        });
        let got = health.wait_for(ms(100), own).await;
        others.abort();
        assert!(got.as_ref().err().is_none_or(RedisError::is_timeout));
        assert_eq!(health.overdue.load(Ordering::Relaxed), 0);
        (got.ok(), u64::try_from(began.elapsed().as_millis()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn p26_silence_is_waited_out_once() {
        assert_eq!(waits(1000, 0, 1000).await, (None, 100));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_behind_others_is_waited_for() {
        assert_eq!(waits(20, 1000, 350).await, (Some(7), 350));
    }

    #[tokio::test(start_paused = true)]
    async fn p26_a_server_that_stops_answering_costs_a_quarter_more() {
        let (got, after) = waits(20, 200, 1000).await;
        assert_eq!(got, None);
        assert!((280..=325).contains(&after), "{after} ms, of which 200 with answers");
    }

    #[tokio::test(start_paused = true)]
    async fn p26_a_call_is_let_go_however_many_others_are_answered() {
        assert_eq!(waits(20, 1000, 1000).await, (None, 400));
    }
}
