//! The README quotes the examples, which compile and run.

use std::path::Path;
use std::process::Command;

/// Lines without their indentation and trailing blanks.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_rust_block_stands_in_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("../README.md")).unwrap();
    let examples = ["first", "near", "readme", "watched"]
        .map(|name| std::fs::read_to_string(root.join(format!("examples/{name}.rs"))).unwrap());
    let examples = examples.each_ref().map(|text| lines(text));
    let blocks: Vec<&str> =
        readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 4, "the README has lost its examples");
    for block in blocks {
        let block = lines(block);
        assert!(
            examples.iter().any(|example| example.windows(block.len()).any(|part| part == block)),
            "in none of examples/examples as it stands:\n{}",
            block.join("\n")
        );
    }
}

fn run(example: &str) -> String {
    let cargo = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--example", example])
        .env_remove("SINGLEFLIGHT_BACKEND")
        .output()
        .expect("cargo can be run");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    String::from_utf8(cargo.stdout).expect("it prints text")
}

#[test]
fn the_example_runs() {
    run("readme");
}

#[test]
fn the_first_program_says_what_the_readme_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("../README.md")).unwrap();
    let said = run("first");
    assert!(readme.contains(&format!("```text\n{said}```\n")), "{said}");
}
