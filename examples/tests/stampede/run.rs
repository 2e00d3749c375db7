//! Running it.

use std::process::{Command, Output};

use serde_json::Value;

pub(crate) fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
    command.args(args.split_whitespace());
    command
}

pub(crate) fn stampede(args: &str) -> Output {
    command(args).output().expect("the program can be started")
}

/// The one scene of a run that went as the program itself expects.
pub(crate) fn scene(name: &str, args: &str) -> Value {
    let output = stampede(&format!("--json --load-ms 20 --scene {name} {args}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "nothing goes to a standard error that is no terminal: {error}");
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let scene = document["scenes"][0].take();
    assert_eq!(scene["scene"], name);
    assert_eq!(scene["as_expected"], true, "{scene:#}");
    assert!(output.status.success());
    scene
}

/// Its only row.
pub(crate) fn row(name: &str, args: &str) -> Value {
    let mut scene = scene(name, args);
    assert_eq!(scene["rows"].as_array().map(Vec::len), Some(1));
    scene["rows"][0].take()
}

/// Each of these command lines is refused with its sentence.
pub(crate) fn mistakes(cases: &[(&str, &str)]) {
    for (args, says) in cases {
        let output = stampede(args);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{args}: {error}");
        assert!(output.stdout.is_empty(), "{args}");
        assert!(error.starts_with("error: ") && error.contains(says), "{args}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
