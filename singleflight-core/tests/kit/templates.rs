//! Templates in sources: matching, misspelt, and where they stand.

use std::fs;
use std::path::Path;

use singleflight_core::testing::{Templates, assert_invalidates_match};
use tempfile::TempDir;

/// A package of these files.
fn package(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Cargo.toml"), "").unwrap();
    fs::create_dir(dir.path().join("src")).unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// What is invalidated and not read in a package of one file.
fn unmatched(source: &str) -> Vec<String> {
    let package = package(&[("src/lib.rs", source)]);
    let templates = Templates::of([package.path()]).unwrap();
    templates.unmatched().into_iter().map(|one| one.written.text().to_owned()).collect()
}

/// The message of the assertion that fails.
fn message(path: &Path) -> String {
    let panic = std::panic::catch_unwind(|| assert_invalidates_match(path)).expect_err("the assertion fails");
    *panic.downcast::<String>().expect("it says why")
}

const READS: &str = r#"
    use singleflight_core::{invalidates, single_flight};
    impl Users {
        /// Reads. `#[invalidates(key = "in a comment")]`
        #[single_flight(key = "user:<id>", ttl = 30)]
        async fn find(&self, id: u64) -> Option<User> { None }
        #[single_flight(ttl = 30, skip(log), key = "page:<self.tenant>:<n>")]
        async fn page(&self, n: u64, log: &Log) -> Option<Page> { None }
    }
"#;

#[test]
fn what_is_read_may_be_invalidated_under_other_names() {
    let writes = r#"
        impl Users {
            #[invalidates(key = "user:<user.id>", key = "page:<self.tenant>:1")]
            async fn save(&self, user: User) {}
            #[singleflight_core::invalidates(key = r"user:<id>", flights = &self.flights)]
            async fn remove(&self, id: u64) {}
        }
        async fn by_hand(flights: &SingleFlight, id: u64) {
            flights.invalidate(&key!("user:<id>")).await;
            flights.invalidate("told by text").await;
        }
    "#;
    assert_eq!(unmatched(&format!("{READS}{writes}")), [""; 0]);
}

#[test]
fn what_nobody_reads_is_told() {
    let writes = r#"
        #[invalidates(key = "usr:<user.id>")]
        async fn misspelt(user: User) {}
        #[invalidates(key = "user:<id>", key = "user:<id>:<x>")]
        async fn one_of_two(id: u64, x: u64) {}
        #[invalidates(key = "user:<id:?>")]
        async fn of_another_form(id: u64) {}
        async fn by_hand(flights: &SingleFlight, id: u64) {
            flights.invalidate(&singleflight_core::key!("users:<id>")).await;
        }
    "#;
    let expected = ["usr:<user.id>", "user:<id>:<x>", "user:<id:?>", "users:<id>"];
    assert_eq!(unmatched(&format!("{READS}{writes}")), expected);
}

#[test]
fn the_message_names_file_line_and_what_was_meant() {
    let write = "// a line\n\n#[invalidates(key = \"usr:<user.id>\")]\nasync fn save(user: User) {}\n";
    let package = package(&[("src/lib.rs", READS), ("src/store/users.rs", write)]);
    let told = message(package.path());
    assert!(
        told.starts_with("1 of 1 templates that are invalidated match none of the 2 that are read:"),
        "{told}"
    );
    let users = package.path().join("src/store/users.rs");
    assert!(told.contains(&format!("`usr:<user.id>` at {}:3;", users.display())), "{told}");
    let lib = package.path().join("src/lib.rs");
    assert!(told.contains(&format!("nearest that is read is `user:<id>` at {}:5", lib.display())), "{told}");
}

#[test]
fn templates_are_found_wherever_they_stand() {
    let nested = r##"
        mod outer { pub mod inner { impl<T> Store<T> {
            #[cfg_attr(feature = "cache", single_flight(key = "deep:<T>:<id>", ttl = 1))]
            pub(crate) async fn find<T>(id: u64) -> Option<T> { None }
        } } }
        macro_rules! repository { ($name:ident) => {
            #[single_flight(key = "made:<id>", ttl = 1)]
            async fn $name(id: u64) -> Option<u64> { None }
        }; }
        #[async_trait]
        impl Trait for Store {
            #[tracing::instrument]
            #[single_flight(key = r#"raw"<id>"#, ttl = 1)]
            async fn raw(&self, id: u64) -> Option<u64> { None }
            #[single_flight(key = "\u{67}r\x6f\
                                   up:<id>", ttl = 1)]
            async fn escaped(&self, id: u64) -> Option<u64> { None }
        }
        async fn by_hand(flights: &SingleFlight) {
            let key = key!("hand:<id>", id = 7);
            flights.flight(&key).run(body).await;
            flights.flight("plain<text").run(body).await;
        }
        #[invalidates(key = "deep:<T>:<id>", key = "made:<x.id>", key = "raw\"<id>", key = "group:<id>")]
        #[invalidates(key = "hand:<user.hand>")]
        async fn write<T>() {}
    "##;
    assert_eq!(unmatched(nested), [""; 0]);
    let package = package(&[("src/lib.rs", nested)]);
    let templates = Templates::of([package.path()]).unwrap();
    let reads: Vec<_> = templates.reads().iter().map(|read| (read.text(), read.line())).collect();
    let texts: Vec<_> = reads.iter().map(|(text, _)| *text).collect();
    assert_eq!(texts, ["deep:<T>:<id>", "made:<id>", "raw\"<id>", "group:<id>", "hand:<id>", "plain<text"]);
    assert_eq!(reads[0].1, 3);
    assert_eq!(templates.invalidated().len(), 5);
}

#[test]
fn other_names_of_the_macros_are_known() {
    let facade = "pub use singleflight_core::{single_flight as cached, invalidates as clears, key as cache_key};\n\
                  fn cast(key: u8) -> u64 { key as u64 }";
    let used = r#"
        use crate::facade::{cached as c, clears};
        #[c(key = "user:<id>", ttl = 1)] async fn find(id: u64) -> Option<u64> { None }
        #[clears(key = "user:<user.id>")] async fn save(user: User) {}
        #[crate::facade::clears(key = "usr:<user.id>")] async fn misspelt(user: User) {}
        fn by_hand() { flights.invalidate(&cache_key!("usr:<id>")); }
    "#;
    let package = package(&[("src/facade.rs", facade), ("src/lib.rs", used)]);
    let unmatched = Templates::of([package.path()]).unwrap().unmatched();
    let texts: Vec<_> = unmatched.iter().map(|one| one.written.text()).collect();
    assert_eq!(texts, ["usr:<user.id>", "usr:<id>"]);
}

#[test]
fn reads_of_tests_are_for_writes_of_tests() {
    let source = r#"
        #[invalidates(key = "fake:<id>")] async fn production(id: u64) {}
        #[cfg(test)]
        mod tests {
            #[single_flight(key = "fake:<id>", ttl = 1)] async fn fake(id: u64) -> Option<u64> { None }
            #[invalidates(key = "fake:<x>")] async fn save(x: u64) {}
        }
        #[cfg(all(test, feature = "slow"))] use helpers;
        #[single_flight(key = "other:<id>", ttl = 1)] async fn other(id: u64) -> Option<u64> { None }
        #[cfg(not(test))]
        #[single_flight(key = "third:<id>", ttl = 1)] async fn third(id: u64) -> Option<u64> { None }
        #[invalidates(key = "other:<id>", key = "third:<id>")] async fn production(id: u64) {}
    "#;
    assert_eq!(unmatched(source), ["fake:<id>"]);
    let inner = r#"
        #[invalidates(key = "fake:<id>")] async fn production(id: u64) {}
        mod tests {
            #![cfg(test)]
            #[single_flight(key = "fake:<id>", ttl = 1)] async fn fake(id: u64) -> Option<u64> { None }
        }
    "#;
    assert_eq!(unmatched(inner), ["fake:<id>"]);
}

#[test]
fn modules_of_tests_may_have_files_of_their_own() {
    let read =
        r#"#[single_flight(key = "fake:<id>", ttl = 1)] async fn fake(id: u64) -> Option<u64> { None }"#;
    let write = r#"#[invalidates(key = "fake:<id>")] async fn save(id: u64) {}"#;
    for (place, declared, unmatched) in [
        ("src/tests.rs", "#[cfg(test)] mod tests;", 1),
        ("src/tests/fakes.rs", "#[cfg(test)] mod tests;", 1),
        ("src/tests.rs", "mod tests;", 0),
        ("src/testsuite.rs", "#[cfg(test)] mod tests; mod testsuite;", 0),
    ] {
        let package = package(&[("src/lib.rs", &format!("{declared} {write}")), (place, read)]);
        assert_eq!(
            Templates::of([package.path()]).unwrap().unmatched().len(),
            unmatched,
            "{place}: {declared}"
        );
    }
}

#[test]
fn packages_may_share_keys() {
    let reads = package(&[("src/lib.rs", READS)]);
    let writes = package(&[
        (
            "src/lib.rs",
            r#"#[invalidates(key = "user:<id>", key = "session:<id>")] async fn save(id: u64) {}"#,
        ),
        ("tests/misspelt.rs", r#"#[invalidates(key = "usr:<id>")] async fn save(id: u64) {}"#),
    ]);
    let templates = Templates::of([reads.path(), writes.path()]).unwrap();
    assert_eq!(templates.unmatched().len(), 1);
    templates.read_elsewhere("session:<token>").assert_match();
    let everything = Templates::of([reads.path(), &writes.path().join("tests")]).unwrap();
    assert_eq!(everything.unmatched().len(), 1);
}

#[test]
fn what_cannot_be_checked_is_told() {
    let none = package(&[("src/lib.rs", READS)]);
    assert!(message(none.path()).contains("no `#[invalidates]` in these sources (2 templates are read)"));
    let empty = package(&[]);
    assert!(message(empty.path()).contains("there is no `.rs` file"));
    let broken = package(&[("src/lib.rs", "\n\nfn f() { \"open }")]);
    assert!(message(broken.path()).contains("src/lib.rs:"), "{}", message(broken.path()));
    assert!(message(&broken.path().join("src/none.rs")).starts_with("cannot read "));
    let write = package(&[("src/lib.rs", r#"#[invalidates(key = "a")] async fn save() {}"#)]);
    assert!(message(write.path()).ends_with("src/lib.rs:1; nothing is read"), "{}", message(write.path()));
}

#[test]
fn scripts_are_read_too() {
    let script = "#!/usr/bin/env run\n#[invalidates(key = \"a\")] async fn save() {}";
    assert_eq!(unmatched(script), ["a"]);
    assert_eq!(unmatched("#![allow(unused)]\n#[invalidates(key = \"a\")] async fn save() {}"), ["a"]);
}
