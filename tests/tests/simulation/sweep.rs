//! Many schedules, and whether they were worth running.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::check;
use crate::event::{Counts, Kind};

/// Of this many schedules (or this much time, whichever is over first), each of two tests runs its own.
const SCHEDULES: u64 = 50_000;
const TIME: Duration = Duration::from_secs(60);

/// How often an event must have occurred in 1000 schedules, about a third of what is usual.
const FLOORS: &[(Kind, u64)] = &[];

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
