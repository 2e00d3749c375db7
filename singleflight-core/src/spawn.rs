//! Fills that are tasks of their own: they outlive the caller that started them, and a stale copy is answered at once.

use std::future::Future;
use std::pin::pin;

use tokio::runtime::Handle;
use tokio::task::JoinError;

use crate::call::Fill;
use crate::control::CallOutcome;
use crate::fill::Run;
use crate::observe::{Count, Event};
use crate::policy::Losers;
use crate::typed::Typed;

impl<R: Send + 'static> Fill<'_, R> {
    /// As [`run`](Self::run), in a task of its own. `plan` is the call's own [`Typed`], by value.
    ///
    /// Where there is no runtime, and beside everything, the body runs in place.
    ///
    /// # Panics
    /// If the body does.
    ///
    /// # Cancel safety
    /// Dropping it leaves the fill running.
    pub async fn run_owned<P, F>(self, plan: P, body: F) -> R
    where
        P: Typed<R> + 'static,
        F: Future<Output = R> + Send + 'static,
    {
        let (leader, runtime) = match (self.leader, Handle::try_current()) {
            (Some(leader), Ok(runtime)) => (leader, runtime),
            (leader, _) => return Run::new(&plan, pin!(body), leader).await,
        };
        let copy = leader.seen.as_ref().filter(|found| !found.stale || leader.terms.losers != Losers::Wait);
        let answer = copy.and_then(|found| self.typed.give(&*found.value));
        let mut leader = leader;
        if answer.is_some() {
            leader.site.count(Count::Stale);
            if let Some(found) = &leader.seen {
                leader.tell(&Event::Stale { age: found.age(&leader.terms, leader.began) });
            }
            leader.scope.note(CallOutcome::Stale);
            // Its caller is answered: how the fill ends is not this call's outcome any more.
            leader.answered = true;
            leader.scope.outcomes = None;
        }
        let fill = runtime.spawn(async move { Run::new(&plan, pin!(body), Some(leader)).await });
        match answer {
            Some(result) => result,
            None => match fill.await {
                Ok(result) => result,
                Err(error) => gone(error).await,
            },
        }
    }
}

/// The task of the fill ended without a result: its panic is the caller's; and if its runtime is going, so is the
/// caller.
async fn gone(error: JoinError) -> ! {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => std::future::pending().await,
    }
}
