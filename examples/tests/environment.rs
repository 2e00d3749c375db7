//! The environment chooses the engine, in real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

/// Runs `examples/environment.rs` with this backend in its environment.
fn run(backend: Option<&str>, argument: &str) -> Output {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["run", "--quiet", "--example", "environment", "--", argument])
        .env_remove("SINGLEFLIGHT_BACKEND");
    if let Some(backend) = backend {
        command.env("SINGLEFLIGHT_BACKEND", backend);
    }
    command.output().unwrap()
}

fn loads(backend: Option<&str>, argument: &str) -> String {
    let output = run(backend, argument);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What a refused backend says.
fn refusal(backend: &str, argument: &str) -> String {
    let output = run(Some(backend), argument);
    assert!(
        !output.status.success() && output.stdout.is_empty(),
        "{backend} must not become memory in silence"
    );
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn memory_is_the_default_and_noop_switches_everything_off() {
    assert_eq!(loads(None, ""), "1");
    assert_eq!(loads(Some("memory:"), ""), "1");
    assert_eq!(loads(Some("noop:"), ""), "2");
    assert_eq!(loads(Some("noop:"), "from-env"), "2");
}

#[test]
fn an_installed_engine_wins_over_the_environment() {
    assert_eq!(loads(Some("noop:"), "install"), "1");
    assert_eq!(loads(Some("redis://localhost"), "install"), "1");
}

#[test]
fn what_cannot_be_had_is_refused_with_the_good_values_and_without_the_password() {
    for argument in ["", "from-env"] {
        let said = refusal("redis://:secret@localhost", argument);
        assert!(said.contains("singleflight_redis::from_env()") && !said.contains("secret"), "{said}");
        let said = refusal("memcached://:secret@localhost", argument);
        assert!(said.contains("`memory:`") && said.contains("`noop:`") && !said.contains("secret"), "{said}");
    }
}
