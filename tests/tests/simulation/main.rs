//! The engine in a simulated fleet: several processes on one backend, a network that is slow, lossy and sometimes cut,
//! and a clock that moves only when everybody waits.
//!
//! A schedule is decided by its seed alone. What happens in one, made small if it fails, is told by
//! `SIMULATION_SEED=n cargo test --test simulation -- simulation_seed --ignored --nocapture`.

#![deny(warnings)]

mod act;
mod caller;
mod early;
mod event;
mod known;
mod ledger;
mod listen;
mod network;
mod oracle;
mod plan;
mod run;
mod server;
mod shrink;
mod sweep;
mod world;

use singleflight_core::testing::Fault;

use plan::Plan;
use run::run;

/// Runs the schedule of a seed; one that fails is made small and told.
fn check(seed: u64) -> run::Run {
    let plan = Plan::of(seed);
    let outcome = run(&plan, None, false);
    if let Some(violation) = &outcome.violation {
        let small = shrink::shrink(&plan, None, violation.oracle);
        let again = run(&small, None, true);
        let found = again.violation.as_ref().unwrap_or(violation);
        panic!("{}\n\n{found}\nreplay with SIMULATION_SEED={seed}", small.tell(&again.lines));
    }
    outcome
}

#[test]
#[ignore = "replays the schedule of SIMULATION_SEED"]
fn simulation_seed() {
    let seed = std::env::var("SIMULATION_SEED").expect("SIMULATION_SEED says which schedule to replay");
    let seed = seed.parse().expect("SIMULATION_SEED is a number");
    check(seed);
    let plan = Plan::of(seed);
    println!("{}", plan.tell(&run(&plan, None, true).lines));
}

#[test]
fn simulation_repeats_itself() {
    for seed in 0..300 {
        let plan = Plan::of(seed);
        let (one, two) = (run(&plan, None, true), run(&plan, None, false));
        assert_eq!(one.hash, two.hash, "seed {seed}: {}", plan.tell(&one.lines));
    }
}

/// That the seed's schedule fails with the fault and only with it.
fn finds(fault: Fault, seed: u64, oracles: &[&str]) {
    let plan = Plan::of(seed);
    assert_eq!(run(&plan, None, false).violation, None);
    let run = run(&plan, Some(fault), true);
    for oracle in oracles {
        assert!(run.failed.contains(oracle), "{oracle} saw nothing\n{}", plan.tell(&run.lines));
    }
}

#[test]
fn simulation_finds_release_by_key() {
    finds(Fault::ReleaseByKey, 1, &["P1", "P7"]);
}

#[test]
fn simulation_finds_publish_unchecked() {
    finds(Fault::PublishUnchecked, 149, &["P5", "P6"]);
}

#[test]
fn simulation_finds_invalidate_that_keeps_the_lease() {
    finds(Fault::InvalidateKeepsLease, 53, &["P5"]);
}

#[test]
fn simulation_finds_no_recheck() {
    finds(Fault::NoRecheck, 59, &["P14"]);
}

#[test]
#[ignore = "looks for the seeds of the tests above"]
fn simulation_search() {
    use std::collections::BTreeMap;
    for fault in [Fault::ReleaseByKey, Fault::PublishUnchecked, Fault::InvalidateKeepsLease, Fault::NoRecheck]
    {
        let mut first = BTreeMap::new();
        for seed in 0..2000 {
            for oracle in run(&Plan::of(seed), Some(fault), false).failed {
                first.entry(oracle).or_insert(seed);
            }
        }
        println!("{fault:?}: {first:?}");
    }
}
