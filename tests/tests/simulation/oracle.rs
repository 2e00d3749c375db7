//! What every answer must be, and what must be left when all is quiet.

use std::time::Duration;

use singleflight_core::{FlightErrorKind, Losers, OnTimeout};

use crate::caller::Row;
use crate::event::Kind;
use crate::plan::{Ends, How, Mood};
use crate::world::{Answer, Call, Load, State};

/// Values loaded without the backend are kept for this long, and a little for the timers to be rounded.
const HOLD: Duration = Duration::from_millis(1002);
const ROUNDED: Duration = Duration::from_millis(2);

impl State {
    pub(crate) fn call_ends(&mut self, now: Duration, call: usize, answer: Answer) {
        self.calls[call].ended = Some(now);
        let process = self.calls[call].process;
        let own = self.calls[call].load;
        let kind = match answer {
            Answer::Value { load, .. } if Some(load) == own => Kind::AnsweredOwn,
            Answer::Value { .. } => Kind::AnsweredOther,
            Answer::Nothing => Kind::AnsweredNothing,
            Answer::Default => Kind::AnsweredDefault,
            _ => Kind::AnsweredError,
        };
        self.record.note(now, kind, process, call);
        self.own_result(call, answer);
        match answer {
            Answer::Value { version, load } if Some(load) != own => {
                self.not_outdated(call, version, load);
                self.not_expired(call, load);
                self.not_unkept(call, load);
            }
            Answer::Nothing if own.is_none() => self.nothing_was_found(call),
            Answer::Load(_) | Answer::Flight(_) | Answer::Default => {
                self.error_has_a_reason(now, call, answer)
            }
            Answer::Value { .. } | Answer::Nothing | Answer::Panic => {}
        }
    }

    /// P13, P17: whoever ran its body gets what it gave, or the copy that a failed refresh has left.
    fn own_result(&mut self, call: usize, answer: Answer) {
        let own = self.calls[call].load;
        let gave = own.and_then(|load| self.loads[load].gave);
        let good = match (gave, answer) {
            (Some(Ends::Ok | Ends::Unkept), Answer::Value { load, .. }) => Some(load) == own,
            (Some(Ends::Fails), Answer::Load(load)) => Some(load) == own,
            (Some(Ends::Fails), Answer::Value { .. } | Answer::Nothing)
            | (Some(Ends::Nothing), Answer::Nothing)
            | (Some(Ends::Panics), Answer::Panic) => true,
            (None, Answer::Panic) | (Some(_), _) => false,
            (None, _) => true,
        };
        if !good {
            self.violate("P13", || {
                format!("call {call} ran load {own:?}, which gave {gave:?}, and got {answer:?}")
            });
        }
    }

    /// P5, P6, P18: some load found nothing, not before what was invalidated, and what it found is not gone.
    fn nothing_was_found(&mut self, call: usize) {
        let key = self.calls[call].key;
        let fits = |id: &usize| {
            let load = &self.loads[*id];
            (load.key, load.gave) == (key, Some(Ends::Nothing))
                && !self.is_outdated(call, load.version, *id)
                && self.calls[call].began <= self.gone_at(*id)
        };
        if !(0..self.loads.len()).any(|id| fits(&id)) {
            self.violate("P5", || {
                format!("call {call} was told that there is nothing, which no load had found")
            });
        }
    }

    /// A value that is not to be kept is for those who had called before it was there.
    fn not_unkept(&mut self, call: usize, load: usize) {
        let Load { gave, ended, .. } = self.loads[load];
        if gave == Some(Ends::Unkept) && ended.is_some_and(|ended| self.calls[call].began > ended) {
            self.violate("P8", || format!("call {call} got load {load}, which was not to be kept"));
        }
    }

    /// What the backend stores is to be kept, for as long as its kind is.
    pub(crate) fn may_be_stored(&mut self, row: Option<Row>, hard: Duration) {
        if let Some(Row { load, .. }) = row.filter(|row| !row.keep) {
            self.violate("P8", || format!("load {load} was stored though it was not to be kept"));
        }
        let most = if row.is_some() { self.terms.ttl } else { self.terms.negative };
        if hard > Duration::from_millis(most) {
            self.violate("P18", || format!("{row:?} was stored for {hard:?}"));
        }
    }

    /// Whether the call may not see it: its process's own floor is for it alone.
    fn is_outdated(&self, call: usize, version: u32, load: usize) -> bool {
        let (fleet, own) = self.calls[call].floors;
        version < own || version < fleet && !self.is_beside(call, load)
    }

    /// Loads without the lease are not the fleet's to void: they happen while the backend cannot be asked, or when the
    /// wait budget is over, are seen in their own process alone, and for a moment.
    fn is_beside(&self, call: usize, load: usize) -> bool {
        let (process, began) = (self.calls[call].process, self.calls[call].began);
        self.loads[load].token.is_none()
            && self.loads[load].process == process
            && self.loads[load].ended.is_none_or(|ended| began <= ended + HOLD)
    }

    /// P5, P6: nothing older than what was invalidated before the call began.
    fn not_outdated(&mut self, call: usize, version: u32, load: usize) {
        let (fleet, own) = self.calls[call].floors;
        if version < own {
            self.violate("P6", || {
                format!("call {call} got version {version} of load {load}; its process had invalidated up to {own}")
            });
        }
        if version < fleet && !self.is_beside(call, load) {
            self.violate("P5", || {
                format!(
                    "call {call} got version {version} of load {load} though {fleet} had been invalidated"
                )
            });
        }
    }

    /// P18: nothing past its hard TTL.
    fn not_expired(&mut self, call: usize, load: usize) {
        let (began, until) = (self.calls[call].began, self.gone_at(load));
        if began > until {
            self.violate("P18", || format!("call {call} got load {load}, which was gone at {until:?}"));
        }
    }

    /// When what the load gave is past its hard TTL.
    fn gone_at(&self, load: usize) -> Duration {
        let ended = self.loads[load].ended.unwrap_or_default();
        let stored = self.loads[load].token.and_then(|token| self.ledger.stored_until(token));
        stored.unwrap_or(ended + HOLD).max(ended) + ROUNDED
    }

    /// P15, P18: errors are those of loads, or what the policy says; and not where there is a copy.
    fn error_has_a_reason(&mut self, now: Duration, call: usize, answer: Answer) {
        let failed = self.keys[self.calls[call].key].last_failure;
        let noted = Duration::from_millis(self.terms.cooldown.max(self.terms.lease).max(1000));
        let began = self.calls[call].began;
        let good = match answer {
            Answer::Default => self.terms.losers == Losers::Default,
            Answer::Flight(FlightErrorKind::Busy) => self.terms.losers == Losers::Fail,
            Answer::Flight(FlightErrorKind::TimedOut) => self.terms.on_timeout == OnTimeout::Fail,
            Answer::Flight(_) | Answer::Load(_) => failed.is_some_and(|failed| began <= failed + noted),
            _ => true,
        };
        if !good {
            self.violate("P15", || format!("call {call} got {answer:?} for no reason"));
        }
        let copy = self.calls[call].entry_until.is_some_and(|until| now + ROUNDED < until);
        let key = self.calls[call].key;
        // Until its publish is answered a load is under way for those who do not wait.
        let flown = 2 * self.delay + ROUNDED;
        let loading = |load: &Load| load.key == key && load.ended.is_none_or(|ended| began <= ended + flown);
        let busy = matches!(answer, Answer::Flight(FlightErrorKind::Busy) | Answer::Default)
            && self.loads.iter().any(loading);
        let kept = copy
            && !busy
            && self.ledger.entry_until(key, now).is_some()
            && self.calls[call].how != How::Refresh;
        if kept && self.lossless && self.had_patience(call) && self.keys[key].invalidations == 0 {
            self.violate("P15", || {
                format!("call {call} got {answer:?} although there was a copy all the time")
            });
        }
    }

    /// Whether the wait budget is long enough to look in the store; behind a leader that hung, to outlast it first.
    fn had_patience(&self, call: usize) -> bool {
        let Call { process, key, .. } = self.calls[call];
        let hung = |other: &Call| {
            (other.process, other.key) == (process, key) && (other.stalled || !other.unpolled.is_zero())
        };
        let hung = if self.calls.iter().any(hung) { self.terms.lease } else { 0 };
        let polled = Duration::from_millis(self.terms.wait).saturating_sub(self.calls[call].unpolled);
        polled > Duration::from_millis(hung) + 4 * self.delay
    }

    /// When all calls are over and everything on the way has arrived.
    pub(crate) fn when_quiet(&mut self, now: Duration) {
        for key in 0..self.keys.len() {
            if let Some(token) = self.ledger.live(key, now) {
                self.violate("P8", || format!("the lease of key {key} is left under {token:x}"));
            }
            self.one_fill(key);
        }
        let watched = self.ledger.watchers();
        if watched > 0 {
            self.violate("P23", || format!("{watched} watches are left"));
        }
    }

    /// P14: where nothing goes wrong, one load, and one more for each invalidation.
    fn one_fill(&mut self, key: usize) {
        if self.mood != Mood::Calm {
            return;
        }
        let loads = self.loads.iter().filter(|load| load.key == key).count();
        let most = 1 + self.keys[key].invalidations;
        if loads > most {
            self.violate("P14", || format!("{loads} loads of key {key} where {most} would do"));
        }
    }
}
