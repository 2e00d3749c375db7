//! A schedule: everything that is decided before the run, so that it can be replayed and shrunk.

use std::time::Duration;

use fastrand::Rng;
use singleflight_core::{LockTtl, Losers, OnTimeout, Policy};

/// Milliseconds of virtual time; all of a schedule is in them.
pub(crate) type Ms = u64;

/// One schedule.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) mood: Mood,
    pub(crate) processes: usize,
    pub(crate) keys: usize,
    pub(crate) terms: Terms,
    pub(crate) net: Net,
    pub(crate) ops: Vec<Op>,
}

/// How much goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Nothing: callers and invalidations on a network that is slow at worst.
    Calm,
    /// Callers come and go, loads fail, processes stop and die; the network loses nothing.
    Lively,
    /// And the network loses requests, answers and notices, and is away for a while.
    Rough,
}

/// The policy of all calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) ttl: Ms,
    pub(crate) soft: Ms,
    pub(crate) lease: Ms,
    pub(crate) max_hold: Ms,
    pub(crate) wait: Ms,
    pub(crate) losers: Losers,
    pub(crate) on_timeout: OnTimeout,
    pub(crate) retry: bool,
    pub(crate) cooldown: Ms,
    pub(crate) early: f64,
    /// The hard TTL of nothing.
    pub(crate) negative: Ms,
    pub(crate) face: Face,
}

/// What the calls are made of; functions that differ share no values, so a schedule has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    ByHand,
    /// Which has a default, may find nothing, and need not keep what it finds.
    Annotated,
}

/// What the network does; losses in 1000.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Net {
    pub(crate) delay: Ms,
    /// After this long a request is given up.
    pub(crate) timeout: Ms,
    pub(crate) requests_lost: u64,
    pub(crate) answers_lost: u64,
    pub(crate) notices_lost: u64,
    pub(crate) posts_lost: u64,
    /// Requests that take several times the time-out, and hold up those behind them.
    pub(crate) held_up: u64,
}

/// Something that happens at a time of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) at: Ms,
    pub(crate) process: usize,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Call {
        key: usize,
        load: Ms,
        ends: Ends,
        cancel: Option<Ms>,
        stall: Option<(Ms, Ms)>,
        how: How,
    },
    /// A write to the source, then an invalidate; a write that is dropped leaves that to its `Drop`.
    Invalidate {
        key: usize,
        dropped: bool,
    },
    /// None of the process's futures is polled for this long.
    Pause {
        lasts: Ms,
    },
    /// The process is gone, and another one is there in its place.
    Crash,
    /// The process cannot reach the backend; `everyone` means that nobody can.
    Outage {
        lasts: Ms,
        everyone: bool,
    },
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Ok,
    Fails,
    Panics,
    /// With a value that is not to be kept.
    Unkept,
    /// With `None`.
    Nothing,
}

/// How a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Plain,
    /// Errors are cloned for those who wait.
    Sharing,
    /// Whatever is stored, a new value is wanted.
    Refresh,
}

impl Terms {
    pub(crate) fn policy(&self) -> Policy {
        let ms = Duration::from_millis;
        Policy::new()
            .ttl(ms(self.ttl))
            .soft_ttl(ms(self.soft))
            .lock_ttl(LockTtl::Fixed(ms(self.lease)))
            .max_hold(ms(self.max_hold))
            .wait(ms(self.wait))
            .losers(self.losers)
            .on_timeout(self.on_timeout)
            .retry_errors(self.retry)
            .error_cooldown(ms(self.cooldown))
            .early(self.early)
            .negative_ttl(ms(self.negative))
    }
}

impl Plan {
    /// Whether whatever is sent arrives in time.
    pub(crate) fn loses_nothing(&self) -> bool {
        let Net { requests_lost, answers_lost, notices_lost, posts_lost, held_up, .. } = self.net;
        requests_lost + answers_lost + notices_lost + posts_lost + held_up == 0
            && !self.ops.iter().any(|op| matches!(op.what, What::Crash | What::Outage { .. }))
    }

    /// The schedule of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let mood = *pick(rng, &[Mood::Calm, Mood::Lively, Mood::Lively, Mood::Rough, Mood::Rough]);
        let (processes, keys) = (rng.usize(1..=3), rng.usize(1..=2));
        let terms = terms(rng, mood);
        let net = net(rng, mood, &terms);
        let mut plan = Self { seed, mood, processes, keys, terms, net, ops: Vec::new() };
        let bursts = rng.usize(1..=3);
        let mut at = 0;
        for _ in 0..bursts {
            for _ in 0..rng.usize(2..=8) {
                let op = plan.op(rng, at);
                plan.ops.push(op);
            }
            at += *pick(rng, &[20, 60, 150, 400, 1200]);
        }
        plan.ops.sort_by_key(|op| op.at);
        plan
    }

    /// In words, with what happened.
    pub(crate) fn tell(&self, lines: &[String]) -> String {
        let Self { seed, mood, processes, keys, terms, net, ops } = self;
        let ops: Vec<_> = ops.iter().map(|op| format!("{op:?}")).collect();
        format!(
            "seed {seed}, {mood:?}, {processes} processes, {keys} keys\n{terms:?}\n{net:?}\n{}\n\n{}",
            ops.join("\n"),
            lines.join("\n")
        )
    }

    fn op(&self, rng: &mut Rng, burst: Ms) -> Op {
        let spread = *pick(rng, &[1, 1, 5, 40, 120]);
        let at = burst + rng.u64(0..spread);
        let (process, key) = (rng.usize(0..self.processes), rng.usize(0..self.keys));
        let lasts =
            *pick(rng, &[5, 20, self.terms.lease, 2 * self.terms.lease + 10, 5 * self.terms.lease, 1500]);
        let what = match (self.mood, rng.u32(0..100)) {
            (_, 0..12) => What::Invalidate { key, dropped: rng.u32(0..4) == 0 },
            (Mood::Lively | Mood::Rough, 12..18) => What::Pause { lasts },
            (Mood::Lively | Mood::Rough, 18..22) => What::Crash,
            (Mood::Rough, 22..29) => What::Outage { lasts, everyone: rng.bool() },
            _ => self.call(rng, key, lasts),
        };
        Op { at, process, what }
    }

    fn call(&self, rng: &mut Rng, key: usize, lasts: Ms) -> What {
        let lease = self.terms.lease;
        let calm = self.mood == Mood::Calm;
        let load = *pick(
            rng,
            &[0, 5, 20, lease / 2, lease + 7, 3 * lease, if calm { 9 } else { self.terms.max_hold + 50 }],
        );
        if calm {
            let how = if rng.bool() { How::Plain } else { How::Sharing };
            return What::Call { key, load, ends: Ends::Ok, cancel: None, stall: None, how };
        }
        let ends = match rng.u32(0..100) {
            0..16 => Ends::Fails,
            16..22 => Ends::Panics,
            22..30 if self.terms.face == Face::Annotated => Ends::Unkept,
            30..45 if self.terms.face == Face::Annotated => Ends::Nothing,
            _ => Ends::Ok,
        };
        let cancel = (rng.u32(0..100) < 18).then(|| rng.u64(0..=load + 20));
        let stall = (rng.u32(0..100) < 8).then(|| (rng.u64(0..=load + 10), lasts));
        let how = match rng.u32(0..100) {
            0..8 => How::Refresh,
            8..50 => How::Sharing,
            _ => How::Plain,
        };
        What::Call { key, load, ends, cancel, stall, how }
    }
}

fn terms(rng: &mut Rng, mood: Mood) -> Terms {
    let lease = *pick(rng, &[30, 60, 100]);
    let face = if rng.u32(0..3) == 0 { Face::Annotated } else { Face::ByHand };
    let losers = *pick(rng, &[Losers::Stale, Losers::Stale, Losers::Wait, Losers::Fail, Losers::Default]);
    // Calls by hand have no default.
    let losers = if face == Face::ByHand && losers == Losers::Default { Losers::Stale } else { losers };
    if mood == Mood::Calm {
        // Long enough for every load in a row, and longer than any schedule.
        let (ttl, wait) = (60_000, 30_000);
        return Terms {
            ttl,
            soft: ttl,
            lease,
            max_hold: 20 * lease,
            wait,
            losers,
            on_timeout: OnTimeout::Load,
            retry: rng.bool(),
            cooldown: 0,
            early: 0.0,
            negative: ttl,
            face,
        };
    }
    let ttl = *pick(rng, &[50, 200, 600, 5000]);
    let max_hold = lease * *pick(rng, &[1, 2, 5, 10]);
    Terms {
        ttl,
        soft: *pick(rng, &[ttl, ttl / 2, ttl / 10]),
        lease,
        max_hold,
        wait: *pick(rng, &[0, 10, lease, max_hold + lease, max_hold + lease, 1000]),
        losers,
        on_timeout: *pick(rng, &[OnTimeout::Load, OnTimeout::Load, OnTimeout::Fail]),
        retry: rng.u32(0..3) == 0,
        cooldown: *pick(rng, &[0, 0, 40, 300]),
        early: *pick(rng, &[0.0, 0.0, 0.0, 1.0]),
        negative: *pick(rng, &[ttl, ttl / 10]),
        face,
    }
}

fn net(rng: &mut Rng, mood: Mood, terms: &Terms) -> Net {
    // Twice this and a third of the lease TTL is less than the lease TTL, so a live leader is renewed in time.
    let delay = *pick(rng, &[0, 1, 3, terms.lease / 4]);
    let mut net = Net {
        delay,
        timeout: 100,
        requests_lost: 0,
        answers_lost: 0,
        notices_lost: 0,
        posts_lost: 0,
        held_up: 0,
    };
    if mood == Mood::Rough {
        let mut some = || *pick(rng, &[0, 0, 30, 150]);
        (net.requests_lost, net.answers_lost, net.notices_lost) = (some(), some(), some());
        (net.posts_lost, net.held_up) = (some(), some() / 3);
        net.timeout = *pick(rng, &[40, 100]);
    }
    net
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(0..from.len())]
}
