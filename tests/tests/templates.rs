//! What this repository itself invalidates is read, wherever it stands.

use std::path::Path;

use singleflight_core::testing::Templates;

/// Those that are below the root of the workspace.
fn templates(folders: &[&str]) -> Templates {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Templates::of(folders.iter().map(|folder| root.join(folder))).expect("the sources are read")
}

#[test]
fn there_is_no_false_alarm_on_our_own_sources() {
    templates(&[
        "singleflight-core",
        "singleflight-redis",
        "examples/src",
        "examples/examples",
        "examples/tests",
    ])
    .assert_match();
    // Each of these is by itself: what one reads is nothing to the others.
    for folder in ["tests/tests/attribute", "tests/tests/cases"] {
        templates(&[folder]).assert_match();
    }
}

/// They are written to be expanded, and there is nothing behind them.
#[test]
fn what_is_invalidated_for_nobody_is_found() {
    for (place, template) in
        [("tests/tests/hygiene.rs", "hygiene:<id>"), ("tests/tests/ui/pass", "boxed:<id>")]
    {
        let unmatched = templates(&[place]).unmatched();
        let texts: Vec<_> = unmatched.iter().map(|one| one.written.text()).collect();
        assert_eq!(texts, [template]);
    }
}

/// Those that are refused for a name say what they would invalidate all the same.
#[test]
fn what_does_not_compile_is_read_too() {
    assert!(templates(&["tests/tests/ui/fail"]).invalidated().len() > 3);
}
