//! What the macros refuse, and in which words; what they accept.
//!
//! The words are pinned in `ui/fail/*.stderr`, made with stable Rust 1.95. After a change, `TRYBUILD=overwrite cargo test -p singleflight-tests --test ui` writes them anew; read the difference.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

#[test]
fn messages_and_shapes() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}

/// The compiler's words for a value of the wrong type; the carets are ours.
const NOT_OURS: &str = "error[E0308]: mismatched types";

/// One mistake, one sentence: no two files begin with the same one.
#[test]
fn every_mistake_has_a_sentence_of_its_own() {
    let mut seen = HashMap::new();
    for entry in fs::read_dir(Path::new("tests/ui/fail")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "stderr") {
            let text = fs::read_to_string(&path).unwrap();
            let first = text.lines().next().unwrap().to_owned();
            if first == NOT_OURS {
                continue;
            }
            if let Some(other) = seen.insert(first.clone(), path.clone()) {
                panic!("{} and {} both say: {first}", path.display(), other.display());
            }
        }
    }
    assert!(seen.len() >= 60, "only {} mistakes are tested", seen.len());
}
