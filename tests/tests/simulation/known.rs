//! Schedules that once failed, as they were shrunk: each with the fault of the engine that it found.

use singleflight_core::{Losers, OnTimeout};

use crate::event::Kind;
use crate::plan::{Ends, Face, How, Mood, Net, Op, Plan, Terms, What};
use crate::run::{Run, run};

const TERMS: Terms = Terms {
    ttl: 60_000,
    soft: 60_000,
    lease: 60,
    max_hold: 1200,
    wait: 1260,
    losers: Losers::Stale,
    on_timeout: OnTimeout::Load,
    retry: false,
    cooldown: 0,
    early: 0.0,
    negative: 60_000,
    face: Face::ByHand,
};
const NET: Net = Net {
    delay: 0,
    timeout: 40,
    requests_lost: 0,
    answers_lost: 0,
    notices_lost: 0,
    posts_lost: 0,
    held_up: 0,
};
const OK: (Ends, Option<(u64, u64)>) = (Ends::Ok, None);

fn call(at: u64, process: usize, load: u64, (ends, stall): (Ends, Option<(u64, u64)>)) -> Op {
    Op { at, process, what: What::Call { key: 0, load, ends, cancel: None, stall, how: How::Plain } }
}

fn invalidate(at: u64, process: usize) -> Op {
    Op { at, process, what: What::Invalidate { key: 0, dropped: false } }
}

fn passes(seed: u64, mood: Mood, (terms, net): (Terms, Net), ops: Vec<Op>) -> Run {
    let plan = Plan { seed, mood, processes: 3, keys: 1, terms, net, ops };
    let run = run(&plan, None, true);
    assert_eq!(run.violation, None, "{}", plan.tell(&run.lines));
    run
}

/// Followers of the load after the wait budget got the budget itself, zero, to wait for it: they never slept.
#[test]
fn simulation_p19_a_wait_budget_of_zero_does_not_spin() {
    let terms = Terms { wait: 0, ..TERMS };
    passes(
        7,
        Mood::Lively,
        (terms, NET),
        vec![call(16, 0, 200, OK), call(51, 0, 67, OK), call(68, 0, 0, OK)],
    );
}

/// The load after the wait budget was deposed after another budget, and every waiter loaded in turn.
#[test]
fn simulation_p19_a_short_wait_budget_does_not_make_loaders_of_waiters() {
    let terms = Terms { lease: 30, max_hold: 600, wait: 10, ..TERMS };
    let calls = vec![call(9, 0, 90, OK), call(22, 0, 37, OK), call(24, 0, 90, OK), call(30, 0, 0, OK)];
    passes(77, Mood::Lively, (terms, NET), calls);
}

/// An invalidation that timed out was remembered, but the link stayed up and the old value was read.
#[test]
fn simulation_p06_nothing_is_read_before_a_failed_invalidation_has_been_sent() {
    let outage = Op { at: 399, process: 0, what: What::Outage { lasts: 20, everyone: false } };
    let net = Net { requests_lost: 150, ..NET };
    for seed in 0..200 {
        let ops =
            vec![call(4, 1, 50, OK), outage, invalidate(419, 0), call(480, 0, 0, OK), call(520, 0, 0, OK)];
        passes(seed, Mood::Rough, (TERMS, net), ops);
    }
}

/// Callers that do not wait were told "busy" while the leader found a fresh value.
#[test]
fn simulation_p18_looking_is_not_loading() {
    let terms = Terms { lease: 30, max_hold: 600, wait: 630, losers: Losers::Fail, ..TERMS };
    let net = Net { delay: 7, timeout: 100, ..NET };
    let run = passes(
        276,
        Mood::Calm,
        (terms, net),
        vec![call(0, 2, 37, OK), call(45, 0, 15, OK), call(55, 0, 0, OK)],
    );
    assert_eq!(run.counts.of(Kind::AnsweredError), 0, "{}", run.lines.join("\n"));
}

/// A leader that hung after its body made the key busy for as long as it hung.
#[test]
fn simulation_p12_a_hung_leader_is_deposed_for_callers_that_do_not_wait() {
    let terms = Terms { losers: Losers::Fail, ..TERMS };
    let net = Net { delay: 3, timeout: 100, ..NET };
    let hung = call(18, 1, 0, (Ends::Ok, Some((9, 300))));
    let run = passes(5673, Mood::Lively, (terms, net), vec![hung, call(119, 1, 20, OK)]);
    assert_eq!(run.counts.of(Kind::AnsweredError), 0, "{}", run.lines.join("\n"));
}

/// A successor finished the publish of a leader that had hung past the hard TTL, was refused, and was answered with it.
#[test]
fn simulation_p18_a_refused_publish_is_not_for_the_successor() {
    let terms = Terms { ttl: 200, soft: 200, ..TERMS };
    let hung = call(0, 0, 0, (Ends::Ok, Some((5, 1500))));
    for seed in 0..50 {
        let net = Net { delay: 3, timeout: 100, ..NET };
        passes(seed, Mood::Lively, (terms, net), vec![hung, call(1200, 0, 110, OK)]);
    }
}

/// A value whose publish timed out was given to followers that came after an invalidation elsewhere.
#[test]
fn simulation_p05_an_unconfirmed_value_is_for_those_who_came_before_it() {
    let terms = Terms { lease: 100, max_hold: 2000, wait: 2100, ..TERMS };
    let net = Net { delay: 3, held_up: 300, ..NET };
    for seed in 0..300 {
        let ops = vec![call(0, 1, 107, OK), invalidate(120, 0), call(183, 1, 150, OK), call(200, 1, 10, OK)];
        passes(seed, Mood::Rough, (terms, net), ops);
    }
}

/// Two flights of one key that both waited for another process took each other for a circle, and all their callers
/// loaded.
#[test]
fn simulation_p19_flights_that_wait_side_by_side_are_no_circle() {
    let terms = Terms { max_hold: 60, wait: 120, ..TERMS };
    let refresh =
        What::Call { key: 0, load: 180, ends: Ends::Ok, cancel: None, stall: None, how: How::Refresh };
    let ops = vec![
        call(0, 1, 110, OK),
        call(0, 1, 20, OK),
        call(4, 0, 20, OK),
        call(20, 1, 30, OK),
        call(21, 1, 5, OK),
        Op { at: 29, process: 1, what: refresh },
        call(32, 1, 67, OK),
    ];
    passes(19132, Mood::Lively, (terms, Net { timeout: 100, ..NET }), ops);
}

/// Between its publish and the answer to it a leader counted as loading, so callers that do not wait were told "busy"
/// while the value was in the store.
#[test]
fn simulation_p18_publishing_is_not_loading() {
    let terms = Terms { losers: Losers::Fail, ..TERMS };
    let hung = call(0, 0, 20, (Ends::Ok, Some((24, 1500))));
    let net = Net { delay: 1, timeout: 100, ..NET };
    let run = passes(40914, Mood::Lively, (terms, net), vec![hung, call(28, 0, 0, OK)]);
    assert_eq!(run.counts.of(Kind::AnsweredError), 0, "{}", run.lines.join("\n"));
}

/// Callers whose wait budget was over looked once more in the store; each invalidation meanwhile took their flight out
/// of the table, and added a load to those that went on.
#[test]
fn simulation_p19_invalidations_do_not_add_up_loads_after_the_budget() {
    let terms = Terms { lease: 30, max_hold: 60, wait: 30, ..TERMS };
    let net = Net { delay: 7, timeout: 100, answers_lost: 150, posts_lost: 150, held_up: 50, ..NET };
    let refresh =
        What::Call { key: 0, load: 15, ends: Ends::Ok, cancel: None, stall: None, how: How::Refresh };
    for seed in (0..200).chain([4497]) {
        let ops = vec![
            invalidate(0, 0),
            call(0, 0, 37, OK),
            Op { at: 1, process: 0, what: refresh },
            call(1, 0, 90, OK),
            call(2, 0, 15, OK),
            call(7, 0, 37, OK),
            invalidate(57, 0),
        ];
        passes(seed, Mood::Rough, (terms, net), ops);
    }
}
