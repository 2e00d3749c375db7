//! Signals to processes that this program started.

use std::io;
use std::process::{Child, Command};

/// Sends one that the standard library cannot, by the system's own `kill`.
pub(crate) fn send(signal: &str, process: &Child) -> io::Result<()> {
    let status = Command::new("kill").args([signal, &process.id().to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("`kill {signal}`: {status}"))) }
}
