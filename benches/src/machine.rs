//! Where and with what a report was made.

use std::fs;
use std::process::Command;

/// Those whose versions a reader wants to know.
const PEERS: [&str; 10] = [
    "amalgam-cache",
    "cached",
    "foyer-memory",
    "hitbox",
    "hitbox-fn",
    "hitbox-redis",
    "moka",
    "quick_cache",
    "redis",
    "tokio",
];

/// The machine's load averages.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<_> = text.split(' ').take(3).collect();
    if averages.is_empty() { "unknown".to_owned() } else { averages.join(", ") }
}

/// A sentence about the machine, the compiler and the versions; the load when the run began is given.
pub fn about(load_before: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{}, {cores} cores, {}; load averages {load_before} before and {} after. Versions: {}.",
        processor(),
        compiler(),
        load(),
        versions().join(", "),
    )
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(": "));
    model.map_or("an unknown processor", |(_, name)| name).trim().to_owned()
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(
        |_| "rustc".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// As the lock file has them.
fn versions() -> Vec<String> {
    let mut found = Vec::new();
    let mut name = "";
    for line in include_str!("../Cargo.lock").lines() {
        if let Some(rest) = line.strip_prefix("name = ") {
            name = rest.trim_matches('"');
        } else if let Some(rest) = line.strip_prefix("version = ")
            && PEERS.contains(&name)
        {
            found.push(format!("{name} {}", rest.trim_matches('"')));
        }
    }
    found
}
