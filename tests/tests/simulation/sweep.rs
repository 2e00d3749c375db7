//! Many schedules, and whether they were worth running.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::check;
use crate::event::{Counts, Kind};

/// Of this many schedules (or this much time, whichever is over first), each of two tests runs its own.
const SCHEDULES: u64 = 50_000;
const TIME: Duration = Duration::from_secs(60);

/// How often an event must have occurred in 1000 schedules, about a third of what is usual.
const FLOORS: &[(Kind, u64)] = &[
    (Kind::CancelledLoading, 100),
    (Kind::LoadFailed, 130),
    (Kind::LoadPanicked, 50),
    (Kind::LoadUnkept, 25),
    (Kind::LoadNothing, 45),
    (Kind::LoadUnleased, 300),
    (Kind::AnsweredNothing, 70),
    (Kind::AnsweredDefault, 50),
    (Kind::PausedPastLease, 12),
    (Kind::Stalled, 90),
    (Kind::CrashedLoading, 25),
    (Kind::InvalidateDuringLoad, 100),
    (Kind::InvalidateFailed, 45),
    (Kind::InvalidatePosted, 100),
    (Kind::OutageMet, 150),
    (Kind::Probe, 30),
    (Kind::RequestLost, 80),
    (Kind::AnswerLost, 80),
    (Kind::NoticeLost, 1),
    (Kind::PostLost, 7),
    (Kind::HeldUp, 25),
    (Kind::TimedOut, 150),
    (Kind::Granted, 700),
    (Kind::GrantedForced, 100),
    (Kind::Fresh, 35),
    (Kind::Held, 600),
    (Kind::CoolingDown, 15),
    (Kind::StoredRepeat, 4),
    (Kind::Refused, 50),
    (Kind::Extended, 1000),
    (Kind::RenewLost, 70),
    (Kind::LeaseExpired, 20),
    (Kind::StaleAnswers, 15),
    (Kind::Follows, 300),
    (Kind::WaitBudgets, 250),
    (Kind::Takeovers, 100),
    (Kind::Fenced, 250),
    (Kind::Shared, 50),
    (Kind::CoolingAnswers, 15),
];

#[test]
fn simulation_even_seeds() {
    sweep(0);
}

#[test]
fn simulation_odd_seeds() {
    sweep(1);
}

fn sweep(first: u64) {
    let start = Instant::now();
    let (mut counts, mut traces, mut schedules) = (Counts::new(), HashSet::new(), 0);
    for seed in (first..).step_by(2) {
        let run = check(seed);
        counts.add_all(&run.counts);
        traces.insert(run.hash);
        schedules += 1;
        if schedules == SCHEDULES || start.elapsed() > TIME {
            break;
        }
    }
    println!("{schedules} schedules, {} distinct traces, {:.1?}", traces.len(), start.elapsed());
    for kind in Kind::ALL {
        println!("{:>10}  {kind:?}", counts.of(*kind));
    }
    let distinct = traces.len() as u64;
    assert!(distinct * 100 >= schedules * 90, "only {distinct} traces of {schedules} schedules are distinct");
    for (kind, floor) in FLOORS {
        let n = counts.of(*kind);
        assert!(n * 1000 >= floor * schedules, "{kind:?} occurred only {n} times in {schedules} schedules");
    }
}
