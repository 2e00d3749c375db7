//! The lab, as long as a test needs it.

use std::process::Child;

use crate::started;

/// A lab of its own on a free port. It ends with this.
pub(crate) struct Lab {
    process: Child,
    pub(crate) url: String,
}

impl Lab {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let (process, address) = started::lab(arguments);
        Self { process, url: format!("http://{address}") }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
