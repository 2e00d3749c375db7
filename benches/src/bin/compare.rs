//! `compare behaviour`, and so on: one part of the comparison, or several.

use std::process::ExitCode;

use singleflight_benches::{behaviour, herds, hits, misses, redis};

type Part = (&'static str, fn() -> std::io::Result<()>);

const PARTS: [Part; 5] = [
    ("behaviour", behaviour::run),
    ("misses", misses::run),
    ("herds", herds::run),
    ("hits", hits::run),
    ("redis", redis::run),
];

fn main() -> ExitCode {
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
            eprintln!("compare {name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
