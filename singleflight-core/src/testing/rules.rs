//! What is to go wrong, and when.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::calls::{Method, Moment};
use super::gate::{Barrier, Gate};
use crate::error::{BackendError, BackendErrorKind};
use crate::sync::{Mutex, lock};

/// Says what goes wrong with which calls; made by [`FaultyBackend::on`](super::FaultyBackend::on).
///
/// It strikes every call of its method, before the step is done, until [`clear`](super::FaultyBackend::clear): unless
/// [`skip`](Self::skip), [`times`](Self::times) and [`at`](Self::at) say otherwise. One of the last four methods ends it.
///
/// ```
/// use std::time::Duration;
/// use singleflight_core::MemoryBackend;
/// use singleflight_core::error::BackendErrorKind;
/// use singleflight_core::testing::{FaultyBackend, Method, Moment};
///
/// let backend = FaultyBackend::new(MemoryBackend::new());
/// backend.on(Method::Read).fail(BackendErrorKind::Unavailable);        // every read, until cleared
/// backend.on(Method::Acquire).skip(1).times(2).lose();                 // the second and third are done, unheard of
/// backend.on(Method::Renew).delay(Duration::from_millis(300));         // each takes its time
/// let gate = backend.on(Method::Publish).at(Moment::After).hold();     // done, and nobody knows until released
/// backend.on_any().times(1).fail(BackendErrorKind::Timeout);           // whatever comes next
/// # drop(gate);
/// ```
#[must_use = "nothing goes wrong until it is said what"]
pub struct FaultBuilder<'a> {
    rules: &'a Rules,
    rule: Rule,
}

/// All that is to go wrong with one backend.
#[derive(Default)]
pub(super) struct Rules(Mutex<Vec<Rule>>);

struct Rule {
    /// `None` for any.
    method: Option<Method>,
    moment: Moment,
    /// Calls still to be let through.
    skip: usize,
    /// Calls still to be struck; `None` for all.
    times: Option<usize>,
    effect: Effect,
}

#[derive(Clone)]
enum Effect {
    Nothing,
    Fail(BackendErrorKind),
    Stop(Stop),
}

/// What keeps a step from going on.
#[derive(Clone)]
pub(super) enum Stop {
    For(Duration),
    At(Arc<Barrier>),
}

impl<'a> FaultBuilder<'a> {
    pub(super) const fn new(rules: &'a Rules, method: Option<Method>) -> Self {
        let effect = Effect::Nothing;
        Self { rules, rule: Rule { method, moment: Moment::Before, skip: 0, times: None, effect } }
    }

    /// Lets the next `n` of these calls through; those that another fault strikes first do not count.
    pub const fn skip(mut self, n: usize) -> Self {
        self.rule.skip = n;
        self
    }

    /// Strikes `n` of these calls and no more.
    pub const fn times(mut self, n: usize) -> Self {
        self.rule.times = Some(n);
        self
    }

    /// Which side of the step is struck: the question ([`Moment::Before`], unless said), or the answer.
    pub const fn at(mut self, moment: Moment) -> Self {
        self.rule.moment = moment;
        self
    }

    /// They fail in this way. Of several such faults that concern one call, the first made strikes, and the others are
    /// kept for later calls.
    pub fn fail(self, kind: BackendErrorKind) {
        self.end(Effect::Fail(kind));
    }

    /// They are done, and their callers hear of a time-out.
    pub fn lose(self) {
        self.at(Moment::After).fail(BackendErrorKind::Timeout);
    }

    /// They take so much longer, by the clock of the [`FaultyBackend`](super::FaultyBackend).
    ///
    /// # Panics
    /// For [`Method::Post`], which nobody waits for.
    #[track_caller]
    pub fn delay(self, by: Duration) {
        self.not_posts("delayed");
        self.end(Effect::Stop(Stop::For(by)));
    }

    /// They stand still until the gate is released or dropped.
    ///
    /// # Panics
    /// For [`Method::Post`], which nobody waits for.
    #[track_caller]
    pub fn hold(self) -> Gate {
        self.not_posts("held");
        let barrier = Barrier::new(self.rule.method, self.rule.moment);
        self.end(Effect::Stop(Stop::At(barrier.clone())));
        Gate::of(barrier)
    }

    #[track_caller]
    fn not_posts(&self, done: &str) {
        let posts = self.rule.method == Some(Method::Post);
        assert!(!posts, "a post cannot be {done}, as nobody waits for it: let it fail, and it is lost");
    }

    fn end(self, effect: Effect) {
        let Self { rules, mut rule } = self;
        rule.effect = effect;
        lock(&rules.0).push(rule);
    }
}

impl fmt::Debug for FaultBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { method, moment, skip, times, .. } = &self.rule;
        f.debug_struct("FaultBuilder")
            .field("method", method)
            .field("moment", moment)
            .field("skip", skip)
            .field("times", times)
            .finish_non_exhaustive()
    }
}

impl Rule {
    fn concerns(&self, method: Method, moment: Moment) -> bool {
        self.moment == moment && self.method.is_none_or(|only| only == method)
    }

    /// Whether it strikes this call, which then counts.
    fn strikes(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        match &mut self.times {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    fn is_over(&self) -> bool {
        match &self.effect {
            // As long as someone may stand at it.
            Effect::Stop(Stop::At(barrier)) => barrier.is_open(),
            _ => self.times == Some(0),
        }
    }
}

impl Rules {
    /// What keeps this call from going on, in the order in which it was asked for.
    pub(super) fn stops(&self, method: Method, moment: Moment) -> Vec<Stop> {
        let mut rules = lock(&self.0);
        rules.retain(|rule| !rule.is_over());
        let due = rules.iter_mut().filter(|rule| rule.concerns(method, moment));
        due.filter_map(|rule| match rule.effect.clone() {
            Effect::Stop(stop) if rule.strikes() => Some(stop),
            _ => None,
        })
        .collect()
    }

    /// The failure that strikes this call, if one does.
    pub(super) fn failure(&self, method: Method, moment: Moment) -> Result<(), BackendError> {
        let mut rules = lock(&self.0);
        let mut failing = rules.iter_mut().filter(|rule| rule.concerns(method, moment));
        let struck = failing.find_map(|rule| {
            let Effect::Fail(kind) = rule.effect else { return None };
            rule.strikes().then_some(kind)
        });
        rules.retain(|rule| !rule.is_over());
        match struck {
            None => Ok(()),
            Some(kind) => Err(BackendError::new(kind, format!("the test asked for it, on `{method}`"))),
        }
    }

    /// Lets nothing go wrong any more, and those who stand at gates pass.
    pub(super) fn clear(&self) {
        let rules = std::mem::take(&mut *lock(&self.0));
        for rule in rules {
            if let Effect::Stop(Stop::At(barrier)) = rule.effect {
                barrier.lift();
            }
        }
    }
}
