//! How much memory there is, and how much of it this process has.

use std::fs;

/// Bytes that the process has in memory, beside its program; `None` where there is no `/proc`.
pub(super) fn resident() -> Option<u64> {
    bytes("/proc/self/status", "RssAnon:")
}

/// Bytes that the machine has left; `None` where it does not say.
pub(super) fn available() -> Option<u64> {
    bytes("/proc/meminfo", "MemAvailable:")
}

fn bytes(file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}
