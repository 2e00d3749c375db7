//! The lab, started as a user would.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A lab of its own on a free port. It ends with this.
pub(crate) struct Lab {
    process: Child,
    pub(crate) url: String,
}

impl Lab {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_lab"))
            .args(["--port", "0"])
            .args(arguments)
            .env_remove("SINGLEFLIGHT_BACKEND")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the lab starts");
        let url = said(&mut process, "http://").expect("the lab says where it is");
        Self { process, url: format!("http://{url}") }
    }
}

/// What comes after `mark` in the first line that has it, up to a blank.
pub(crate) fn said(process: &mut Child, mark: &str) -> Option<String> {
    let lines = BufReader::new(process.stdout.take()?).lines();
    let after = lines.map_while(Result::ok).find_map(|line| Some(line.split_once(mark)?.1.to_owned()))?;
    after.split_whitespace().next().map(str::to_owned)
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
