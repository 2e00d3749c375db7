//! What every answer must be, and what must be left when all is quiet.

use std::time::Duration;

use singleflight_core::{FlightErrorKind, Losers, OnTimeout};

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
            _ => Kind::AnsweredError,
        };
        self.record.note(now, kind, process, call);
        self.own_result(call, answer);
        match answer {
            Answer::Value { version, load } if Some(load) != own => {
                self.not_outdated(call, version, load);
                self.not_expired(call, load);
            }
            Answer::Value { .. } => {}
            Answer::Load(_) | Answer::Flight(_) => self.error_has_a_reason(now, call, answer),
            Answer::Panic => {}
        }
    }

    /// P13, P17: whoever ran its body gets what it gave, or the copy that a failed refresh has left.
    fn own_result(&mut self, call: usize, answer: Answer) {
        let own = self.calls[call].load;
        let gave = own.and_then(|load| self.loads[load].gave);
        let good = match (gave, answer) {
            (Some(Ends::Ok), Answer::Value { load, .. }) => Some(load) == own,
            (Some(Ends::Fails), Answer::Load(load)) => Some(load) == own,
            (Some(Ends::Fails), Answer::Value { .. }) | (Some(Ends::Panics), Answer::Panic) => true,
            (None, Answer::Panic) | (Some(_), _) => false,
            (None, _) => true,
        };
        if !good {
            self.violate("P13", || {
                format!("call {call} ran load {own:?}, which gave {gave:?}, and got {answer:?}")
            });
        }
    }

    /// P5, P6: nothing older than what was invalidated before the call began.
    fn not_outdated(&mut self, call: usize, version: u32, load: usize) {
        let (fleet, own) = self.calls[call].floors;
        let (process, began) = (self.calls[call].process, self.calls[call].began);
        if version < own {
            self.violate("P6", || {
                format!("call {call} got version {version} of load {load}; its process had invalidated up to {own}")
            });
        }
        // Loads without the lease are not the fleet's to void: they happen while the backend cannot be asked, or when
        // the wait budget is over, are seen in their own process alone, and for a moment.
        let beside = self.loads[load].token.is_none()
            && self.loads[load].process == process
            && self.loads[load].ended.is_none_or(|ended| began <= ended + HOLD);
        if version < fleet && !beside {
            self.violate("P5", || {
                format!(
                    "call {call} got version {version} of load {load} though {fleet} had been invalidated"
                )
            });
        }
    }

    /// P18: nothing past its hard TTL.
    fn not_expired(&mut self, call: usize, load: usize) {
        let (began, ended) = (self.calls[call].began, self.loads[load].ended.unwrap_or_default());
        let stored = self.loads[load].token.and_then(|token| self.ledger.stored_until(token));
        let until = stored.unwrap_or(ended + HOLD).max(ended) + ROUNDED;
        if began > until {
            self.violate("P18", || format!("call {call} got load {load}, which was gone at {until:?}"));
        }
    }

    /// P15, P18: errors are those of loads, or what the policy says; and not where there is a copy.
    fn error_has_a_reason(&mut self, now: Duration, call: usize, answer: Answer) {
        let failed = self.keys[self.calls[call].key].last_failure;
        let noted = Duration::from_millis(self.terms.cooldown.max(self.terms.lease).max(1000));
        let began = self.calls[call].began;
        let good = match answer {
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
        let busy = matches!(answer, Answer::Flight(FlightErrorKind::Busy)) && self.loads.iter().any(loading);
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
        Duration::from_millis(self.terms.wait) > Duration::from_millis(hung) + 4 * self.delay
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
