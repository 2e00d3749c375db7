//! The engine in a simulated fleet: several processes on one backend, a network that is slow, lossy and sometimes cut,
//! and a clock that moves only when everybody waits.
//!
//! A schedule is decided by its seed alone. `SIMULATION_SEED=n cargo test --test simulation -- seed --nocapture` shows
//! what happened in one.

mod event;
mod ledger;
mod network;
mod oracle;
mod plan;
mod run;
mod shrink;
mod world;

use plan::Plan;

#[test]
fn simulation_seed() {
    let Ok(seed) = std::env::var("SIMULATION_SEED") else { return };
    let plan = Plan::of(seed.parse().expect("a number"));
    let run = run::run(&plan, None, true);
    if let Some(violation) = &run.violation {
        let plan = shrink::shrink(&plan, None, violation.oracle);
        let run = run::run(&plan, None, true);
        panic!("{}\n{:?}", tell(&plan, &run.lines), run.violation);
    }
    println!("{}", tell(&plan, &run.lines));
}

#[test]
fn simulation_smoke() {
    let start = std::time::Instant::now();
    for seed in 0..std::env::var("SIMULATION_COUNT").map_or(1000, |n| n.parse().unwrap()) {
        let plan = Plan::of(seed);
        let run = run::run(&plan, None, false);
        if let Some(violation) = run.violation {
            println!("seed {seed}: {violation:?}");
        }
    }
    println!("{:?}", start.elapsed());
}

fn tell(plan: &Plan, lines: &[String]) -> String {
    let ops: Vec<_> = plan.ops.iter().map(|op| format!("{op:?}")).collect();
    let Plan { seed, mood, processes, keys, terms, net, .. } = plan;
    format!(
        "seed {seed}, {mood:?}, {processes} processes, {keys} keys\n{terms:?}\n{net:?}\n{}\n\n{}",
        ops.join("\n"),
        lines.join("\n")
    )
}
