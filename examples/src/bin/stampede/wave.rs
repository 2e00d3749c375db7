//! Many callers at once.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use singleflight_core::SingleFlight;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::progress::Progress;
use crate::repository::{RepoError, User, UserId, Users};

/// What a caller got.
pub(crate) type Found = Result<Option<User>, RepoError>;

/// One caller's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) took: Duration,
    pub(crate) found: Found,
}

/// Callers that have been sent off, each a task of its own.
#[derive(Debug)]
pub(crate) struct Wave {
    callers: Vec<JoinHandle<Answer>>,
    asked: Arc<Semaphore>,
}

impl Wave {
    /// Sends one caller for each of `ids`. The engine is put around every call, since a task does not inherit it.
    pub(crate) fn send<F>(
        progress: &Arc<Progress>,
        flights: &SingleFlight,
        users: &Users,
        ids: impl Iterator<Item = UserId>,
        call: impl Fn(Users, UserId) -> F,
    ) -> Self
    where
        F: Future<Output = Found> + Send + 'static,
    {
        let asked = Arc::new(Semaphore::new(0));
        let send = |id| {
            let call = flights.scope(call(users.clone(), id));
            let (asked, progress) = (asked.clone(), progress.clone());
            progress.asked();
            tokio::spawn(async move {
                let start = Instant::now();
                asked.add_permits(1);
                let found = call.await;
                progress.answered();
                Answer { took: start.elapsed(), found }
            })
        };
        let callers = ids.map(send).collect();
        Self { callers, asked }
    }

    /// Waits until every caller has asked.
    pub(crate) async fn asked(&self) {
        let all = u32::try_from(self.callers.len()).unwrap_or(u32::MAX);
        // Never closed: the permits come.
        let _ = self.asked.acquire_many(all).await;
    }

    /// Drops every call in the middle.
    pub(crate) async fn cancel(self) {
        for caller in &self.callers {
            caller.abort();
        }
        for caller in self.callers {
            let _ = caller.await;
        }
    }

    /// What the callers got, when all have.
    pub(crate) async fn answers(self) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(self.callers.len());
        for caller in self.callers {
            match caller.await {
                Ok(answer) => answers.push(answer),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // Only `cancel` aborts callers.
                    Err(_) => continue,
                },
            }
        }
        answers
    }
}
