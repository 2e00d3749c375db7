//! What happened: counted, hashed into the trace, and written down when a schedule is looked at closely.

use std::time::Duration;

macro_rules! kinds {
    ($($name:ident)*) => {
        /// A kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind { $($name,)* }

        impl Kind {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

kinds! {
    Call AnsweredOwn AnsweredOther AnsweredNothing AnsweredDefault AnsweredError Cancelled CancelledLoading
    LoadBegan LoadOk LoadFailed LoadPanicked LoadUnkept LoadNothing LoadDropped LoadUnleased
    Paused PausedPastLease Stalled Crashed CrashedLoading
    Invalidate InvalidateDuringLoad Invalidated InvalidateFailed InvalidatePosted
    Outage OutageMet Probe
    RequestLost AnswerLost NoticeLost PostLost HeldUp TimedOut
    Read Watched Granted GrantedForced Fresh Held CoolingDown
    Stored StoredRepeat Refused Extended RenewLost Freed NotOwned LeaseExpired
    StaleAnswers Follows Waits WaitBudgets Takeovers Fenced Duplicates Shared CoolingAnswers Renewals
}

/// The record of one run.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) counts: Counts,
    pub(crate) hash: u64,
    pub(crate) lines: Option<Vec<String>>,
}

/// How often each kind of event occurred.
#[derive(Clone, Debug)]
pub(crate) struct Counts([u64; Kind::ALL.len()]);

impl Counts {
    pub(crate) const fn new() -> Self {
        Self([0; Kind::ALL.len()])
    }

    pub(crate) fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    pub(crate) fn add(&mut self, kind: Kind, n: u64) {
        self.0[kind as usize] += n;
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }
}

impl Record {
    pub(crate) fn new(verbose: bool) -> Self {
        Self { counts: Counts::new(), hash: 0xcbf2_9ce4_8422_2325, lines: verbose.then(Vec::new) }
    }

    /// Notes one event; `who` is the process, `what` a key, call or load.
    pub(crate) fn note(&mut self, now: Duration, kind: Kind, who: usize, what: usize) {
        self.counts.add(kind, 1);
        let micros = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        for word in [micros, kind as u64, who as u64, what as u64] {
            self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{:>9.3} ms  process {who}  {kind:?} {what}", now.as_secs_f64() * 1e3));
        }
    }
}
