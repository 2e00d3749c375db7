//! Waiting for another process's fill: watch, then look, then sleep at most until the lease ends.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::backend::{Change, Token, Watch};
use crate::clock::{Clock, far};
use crate::engine::Request;
use crate::flight::Lead;
use crate::lease::{Keeper, Lease};

/// One flight's wait for a lease that someone else has.
#[derive(Debug)]
pub(crate) struct Waiting {
    deadline: Instant,
    watch: Listening,
    /// The grant it has been waiting on.
    grant: Option<Token>,
    pause: Duration,
}

#[derive(Debug)]
enum Listening {
    NotYet,
    To(Box<dyn Watch>),
    /// The backend cannot tell: look at intervals.
    Deaf,
}

/// What ended a wait.
#[derive(Debug)]
pub(crate) enum Woken {
    /// Ask for the lease.
    Ask,
    /// There should be a value: read.
    Look,
    /// The wait budget is used up.
    Overdue,
}

impl Waiting {
    const FIRST_PAUSE: Duration = Duration::from_millis(20);
    const LAST_PAUSE: Duration = Duration::from_millis(500);
    /// Stores round the time left down to a millisecond; never ask in a tight loop.
    const SHORTEST: Duration = Duration::from_millis(1);

    pub(crate) fn new(deadline: Instant) -> Self {
        Self { deadline, watch: Listening::NotYet, grant: None, pause: Self::FIRST_PAUSE }
    }

    /// The grant that has been waited on.
    pub(crate) fn grant(&self) -> Option<Token> {
        self.grant
    }

    /// The lease is held under `grant` for `left` more: waits until there is something to do.
    ///
    /// The first time it only begins to watch and says to ask again: what changed before the watch began would
    /// otherwise be missed.
    pub(crate) async fn next(&mut self, lease: &Lease, grant: Token, left: Duration, clock: &Clock) -> Woken {
        self.grant = Some(grant);
        let now = clock.now();
        if now >= self.deadline {
            return Woken::Overdue;
        }
        let left = left.max(Self::SHORTEST);
        let nap = match &self.watch {
            Listening::NotYet => {
                self.watch = match lease.store.watch(&lease.key).await {
                    Ok(watch) => Listening::To(watch),
                    Err(_) => Listening::Deaf,
                };
                return Woken::Ask;
            }
            Listening::To(_) => left,
            Listening::Deaf => self.pause(clock).min(left),
        };
        let until = far(now, nap).min(self.deadline);
        match self.change_before(until, clock).await {
            None if clock.now() >= self.deadline => Woken::Overdue,
            // Whether a failure concerns this call is for the backend to say: it knows whose it was.
            None | Some(Change::Invalidated | Change::Abandoned { .. }) => Woken::Ask,
            Some(Change::Published | Change::Unknown) => Woken::Look,
        }
    }

    /// The next change, or `None` at `until`.
    async fn change_before(&mut self, until: Instant, clock: &Clock) -> Option<Change> {
        let mut sleep = pin!(clock.sleep_until(until));
        let Listening::To(watch) = &mut self.watch else {
            sleep.await;
            return None;
        };
        let mut changed = watch.changed();
        std::future::poll_fn(|cx| {
            if let Poll::Ready(change) = changed.as_mut().poll(cx) {
                return Poll::Ready(Some(change));
            }
            sleep.as_mut().poll(cx).map(|()| None)
        })
        .await
    }

    /// The polling interval: 20 ms, then half as much again each time up to 500 ms, each shortened by up to a half so
    /// that processes do not ask in step.
    fn pause(&mut self, clock: &Clock) -> Duration {
        let pause = self.pause.mul_f64(1.0 - clock.fraction() / 2.0);
        self.pause = self.pause.mul_f64(1.5).min(Self::LAST_PAUSE);
        pause
    }
}

/// Awaits `future` and says meanwhile, three times per lease TTL, that the leader is alive.
pub(crate) async fn alive<F>(lead: &Lead<Keeper>, call: &Request, mut future: F) -> F::Output
where
    // Held once, and not a second time as something pinned.
    F: Future + Unpin,
{
    let clock = &call.engine.clock;
    let nap = |now| Some(clock.sleep_until(far(now, call.terms.lease / 3)));
    let mut timer = pin!(None);
    std::future::poll_fn(|cx| {
        let now = clock.now();
        lead.beat(now);
        if let Poll::Ready(output) = pin!(&mut future).poll(cx) {
            return Poll::Ready(output);
        }
        // Not made before it is needed: what is ready at once takes no timer.
        if timer.is_none() {
            timer.set(nap(now));
        }
        while timer.as_mut().as_pin_mut().is_some_and(|timer| timer.poll(cx).is_ready()) {
            timer.set(nap(clock.now()));
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pause is at most the next of 20, 30, 45 ms and so on up to half a second, and at least half of it.
    #[test]
    fn p20_pauses_grow_and_are_shortened_by_at_most_a_half() {
        let clock = Clock::system().seeded(1);
        let mut waiting = Waiting::new(clock.now());
        let mut longest = Duration::from_millis(20);
        let mut parts = Vec::new();
        for _ in 0..100 {
            let pause = waiting.pause(&clock);
            assert!(longest / 2 <= pause && pause <= longest, "{pause:?} for {longest:?}");
            parts.push(pause.div_duration_f64(longest));
            longest = longest.mul_f64(1.5).min(Duration::from_millis(500));
        }
        assert_eq!(longest, Duration::from_millis(500));
        assert!(
            parts.iter().any(|part| *part < 0.6) && parts.iter().any(|part| *part > 0.9),
            "spread: {parts:?}"
        );
    }
}
