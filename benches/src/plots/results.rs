//! What a part has written.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Results {
    measured: Value,
}

/// Where a part writes.
pub(super) fn file(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results").join(format!("{part}.json"))
}

/// What was measured; `None` if there is no such file.
pub(super) fn measured(file: &Path) -> io::Result<Option<Value>> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let results: Results = serde_json::from_slice(&text).map_err(|error| malformed(file, &error))?;
    Ok(Some(results.measured))
}

/// An error that says which file it is about.
pub(super) fn malformed(file: &Path, error: &impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_was_not_run_has_no_results() {
        assert_eq!(measured(&file("a part that is not there")).unwrap(), None);
    }

    #[test]
    fn what_no_part_writes_is_an_error_that_names_the_file() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let error = measured(&manifest).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("Cargo.toml"), "{error}");
    }
}
