//! What the guide quotes is still what it quotes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use singleflight_core::testing::conformance;

fn guide(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(guide(path)).unwrap()
}

/// What is told apart: not how far code is seen or indented.
fn code<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let lines = lines.into_iter().map(|line| line.trim().replace("pub(crate) ", ""));
    lines.filter(|line| !line.is_empty()).collect()
}

/// The blocks of Rust of a chapter, without what readers do not see.
fn blocks(chapter: &str) -> Vec<Vec<String>> {
    let blocks = chapter.split("```rust").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| code(block.lines().skip(1).filter(|line| !line.starts_with("# ")))).collect()
}

#[test]
fn the_recipes_are_those_that_the_tests_run() {
    let tested = text("tests/pitfalls/tools.rs") + &text("tests/pitfalls/recipes.rs");
    let tested = code(tested.lines());
    let blocks = blocks(&text("chapters/pitfalls.md"));
    assert_eq!(blocks.len(), 9, "eight pitfalls, and what their recipes share");
    for block in blocks {
        let stands = tested.windows(block.len()).any(|part| part == block);
        assert!(stands, "not in tests/pitfalls as it stands:\n{}", block.join("\n"));
    }
}

#[test]
fn each_pitfall_names_its_tests_and_none_is_left_out() {
    let chapter = text("chapters/pitfalls.md");
    let quoted: BTreeSet<&str> = chapter.split('`').skip(1).step_by(2).collect();
    let is_name = |quoted: &&str| {
        quoted.matches('_').count() > 3 && !quoted.contains(|c| !matches!(c, '_' | 'a'..='z'))
    };
    let named: BTreeSet<&str> = quoted.into_iter().filter(is_name).collect();

    let files = fs::read_dir(guide("tests/pitfalls")).unwrap();
    let files: Vec<String> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let tests = files.iter().flat_map(|file| file.split("#[tokio::test]\nasync fn ").skip(1));
    let tests: BTreeSet<&str> = tests.map(|test| test.split('(').next().unwrap()).collect();
    assert_eq!(named, tests);

    for pitfall in chapter.split("\n## ").skip(1).take(8) {
        assert!(pitfall.contains("\n- The fault: ") && pitfall.contains("\n- The library: "), "{pitfall}");
    }
}

#[test]
fn the_promises_that_it_names_are_checked() {
    let checks: BTreeSet<&str> = conformance::checks().iter().map(conformance::Check::name).collect();
    let mut named = 0;
    let chapters = fs::read_dir(guide("chapters")).unwrap().map(|chapter| chapter.unwrap().path());
    for chapter in chapters.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let chapter = fs::read_to_string(chapter).unwrap();
        for name in chapter.split('`').filter(|name| name.starts_with("p0") || name.starts_with("p1")) {
            assert!(checks.contains(name), "no backend is checked for {name}");
            named += 1;
        }
    }
    assert!(named > 0);
}

#[test]
fn the_rights_are_those_that_the_backend_documents() {
    let documented = fs::read_to_string(guide("../singleflight-redis/src/lib.rs")).unwrap();
    let chapter = text("chapters/redis.md");
    let rights: Vec<&str> = chapter.lines().filter(|line| line.starts_with("ACL ")).collect();
    assert_eq!(rights.len(), 2);
    for line in rights {
        assert!(documented.contains(line), "{line}");
    }
}
