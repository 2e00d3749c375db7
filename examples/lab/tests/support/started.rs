//! Programs that say on their output where they are.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The lab, started as a user would on a free port and without what the environment may say, and its address.
pub(crate) fn lab(arguments: &[&str]) -> (Child, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["--port", "0"])
        .args(arguments)
        .env_remove("SINGLEFLIGHT_BACKEND")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the lab can be started");
    let address = said(&mut process, "http://").expect("the lab says where it is");
    (process, address)
}

/// What comes after `mark` in the first line that has it, up to a blank.
pub(crate) fn said(process: &mut Child, mark: &str) -> Option<String> {
    let lines = BufReader::new(process.stdout.take()?).lines();
    let after = lines.map_while(Result::ok).find_map(|line| Some(line.split_once(mark)?.1.to_owned()))?;
    after.split_whitespace().next().map(str::to_owned)
}
