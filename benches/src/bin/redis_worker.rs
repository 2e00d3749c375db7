//! A process of the fleets that `compare redis` starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    singleflight_benches::redis::worker()
}
