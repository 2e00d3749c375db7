//! The README quotes `examples/readme.rs`, which compiles and runs.

use std::path::Path;
use std::process::Command;

/// Lines without their indentation and trailing blanks.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_rust_block_stands_in_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("../README.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/readme.rs")).unwrap();
    let example = lines(&example);
    let blocks: Vec<&str> =
        readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 4, "the README has lost its examples");
    for block in blocks {
        let block = lines(block);
        assert!(
            example.windows(block.len()).any(|part| part == block),
            "not in examples/readme.rs as it stands:\n{}",
            block.join("\n")
        );
    }
}

#[test]
fn the_example_runs() {
    let run = Command::new(env!("CARGO")).args(["run", "--quiet", "--example", "readme"]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
