//! `compare behaviour`, and so on: one part of the comparison, or several.

use std::process::ExitCode;

use singleflight_benches::{behaviour, growth, herds, hits, misses, plots, redis};

type Part = (&'static str, fn() -> std::io::Result<()>);

const PARTS: [Part; 7] = [
    ("behaviour", behaviour::run),
    ("misses", misses::run),
    ("herds", herds::run),
    ("hits", hits::run),
    ("redis", redis::run),
    ("growth", growth::run),
    ("plots", plots::run),
];

fn main() -> ExitCode {
    if let Some(done) = growth::worker(None) {
        return done.map_or_else(|error| failed("growth", &error), |()| ExitCode::SUCCESS);
    }
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let names = PARTS.map(|(name, _)| name);
    if asked.is_empty() || asked.iter().any(|part| !names.contains(&part.as_str())) {
        eprintln!("compare: write one or more of {}", names.join(", "));
        return ExitCode::from(2);
    }
    for (name, run) in PARTS {
        if asked.iter().any(|part| part == name)
            && let Err(error) = run()
        {
            return failed(name, &error);
        }
    }
    ExitCode::SUCCESS
}

fn failed(part: &str, error: &std::io::Error) -> ExitCode {
    eprintln!("compare {part}: {error}");
    ExitCode::FAILURE
}
