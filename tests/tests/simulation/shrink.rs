//! Making a failing schedule small: drop what is not needed, make simple what is left, for as long as it fails.

use singleflight_core::testing::Fault;
use singleflight_core::{Losers, OnTimeout};

use crate::plan::{Ends, Face, How, Plan, What};
use crate::run::run;

/// The smallest schedule found that fails in the same way.
pub(crate) fn shrink(plan: &Plan, fault: Option<Fault>, oracle: &'static str) -> Plan {
    let fails = |plan: &Plan| run(plan, fault, false).violation.is_some_and(|found| found.oracle == oracle);
    let mut best = plan.clone();
    loop {
        let before = format!("{best:?}");
        drop_ops(&mut best, &fails);
        for simpler in SIMPLER {
            let mut plan = best.clone();
            simpler(&mut plan);
            if fails(&plan) {
                best = plan;
            }
        }
        for at in 0..best.ops.len() {
            for simpler in SIMPLER_OPS {
                let mut plan = best.clone();
                simpler(&mut plan.ops[at].what);
                if fails(&plan) {
                    best = plan;
                }
            }
        }
        if format!("{best:?}") == before {
            return best;
        }
    }
}

fn drop_ops(best: &mut Plan, fails: &dyn Fn(&Plan) -> bool) {
    let mut chunk = best.ops.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < best.ops.len() {
            let mut plan = best.clone();
            plan.ops.drain(at..(at + chunk).min(plan.ops.len()));
            if fails(&plan) {
                *best = plan;
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
}

const SIMPLER: &[fn(&mut Plan)] = &[
    |plan| plan.net.delay = 0,
    |plan| plan.net.requests_lost = 0,
    |plan| plan.net.answers_lost = 0,
    |plan| plan.net.notices_lost = 0,
    |plan| plan.net.posts_lost = 0,
    |plan| plan.net.held_up = 0,
    |plan| plan.terms.early = 0.0,
    |plan| plan.terms.cooldown = 0,
    |plan| plan.terms.retry = false,
    |plan| plan.terms.soft = plan.terms.ttl,
    |plan| plan.terms.negative = plan.terms.ttl,
    |plan| (plan.terms.ttl, plan.terms.soft, plan.terms.negative) = (60_000, 60_000, 60_000),
    // What only annotated functions have means nothing to calls by hand.
    |plan| plan.terms.face = Face::ByHand,
    |plan| plan.terms.losers = Losers::Stale,
    |plan| plan.terms.on_timeout = OnTimeout::Load,
    |plan| plan.terms.max_hold = 20 * plan.terms.lease,
    |plan| plan.terms.wait = plan.terms.max_hold + plan.terms.lease,
];

const SIMPLER_OPS: &[fn(&mut What)] = &[
    |what| {
        if let What::Call { cancel, .. } = what {
            *cancel = None;
        }
    },
    |what| {
        if let What::Call { stall, .. } = what {
            *stall = None;
        }
    },
    |what| {
        if let What::Call { ends, .. } = what {
            *ends = Ends::Ok;
        }
    },
    |what| {
        if let What::Call { how, .. } = what {
            *how = How::Plain;
        }
    },
    |what| {
        if let What::Invalidate { dropped, .. } = what {
            *dropped = false;
        }
    },
];
