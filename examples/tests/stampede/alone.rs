//! One process.

use serde_json::Value;

use crate::run::{mistakes, row, scene, stampede};

#[test]
fn without_protection_every_caller_queries() {
    let row = row("no-protection", "--callers 40 --keys 3");
    assert_eq!((&row["callers"], &row["queries"]), (&40.into(), &40.into()));
}

#[test]
fn with_the_attribute_there_is_one_query_for_each_key() {
    assert_eq!(row("single-flight", "--callers 40")["queries"], 1);
    assert_eq!(row("single-flight", "--callers 40 --keys 7")["queries"], 7);
    assert_eq!(row("single-flight", "--callers 40 --keys 40")["queries"], 40);
    assert_eq!(row("single-flight", "--callers 1")["queries"], 1);
}

#[test]
fn a_query_longer_than_the_lease_is_still_one() {
    let row = row("long-load", "--callers 40");
    assert_eq!((&row["queries"], &row["leases"]), (&1.into(), &1.into()));
    assert!(row["renewals"].as_u64() > Some(0));
}

#[test]
fn a_stale_copy_is_served_while_one_caller_refreshes_it() {
    let row = row("soft-expiry", "--callers 40 --keys 2");
    assert_eq!((&row["queries"], &row["stale"]), (&2.into(), &38.into()));
}

#[test]
fn one_caller_takes_over_from_a_cancelled_leader() {
    let row_of_many = row("cancelled-leader", "--callers 40 --keys 2");
    let figures = ["queries", "cancelled", "errors"].map(|name| row_of_many[name].as_u64().unwrap());
    assert_eq!(figures, [3, 1, 0]);
    assert_eq!(row("cancelled-leader", "--callers 1")["queries"], 1, "nobody is there to take over");
}

#[test]
fn a_failing_query_is_one_query() {
    let row = row("failing-query", "--callers 40");
    assert_eq!((&row["queries"], &row["errors"]), (&1.into(), &40.into()));
}

#[test]
fn after_an_invalidate_the_value_is_new() {
    let row_of_one = row("invalidate", "--callers 40");
    let figures = ["callers", "queries", "stale", "errors"].map(|name| row_of_one[name].as_u64().unwrap());
    assert_eq!(figures, [80, 2, 0, 0]);
    // More keys than connections: some loads have not begun when their key is invalidated.
    assert_eq!(row("invalidate", "--callers 40 --keys 20")["stale"], 0);
}

#[test]
fn losers_do_as_their_policy_says() {
    let scene = scene("losers", "--callers 10");
    let figures =
        |row: &Value| ["queries", "stale", "defaults", "errors"].map(|name| row[name].as_u64().unwrap());
    let rows: Vec<_> = scene["rows"].as_array().unwrap().iter().map(figures).collect();
    let old_copy = [[1, 9, 0, 0], [1, 0, 0, 0], [1, 9, 0, 0], [1, 9, 0, 0]];
    let nothing = [[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 9, 0], [1, 0, 0, 9]];
    assert_eq!(rows, [old_copy, nothing].concat());
}

#[test]
fn with_spawn_everyone_takes_the_stale_copy_and_a_query_outlives_its_caller() {
    let scene = |args: &str| {
        let scene = scene("spawn", args);
        let figures = |row: &Value| ["queries", "stale", "cancelled"].map(|name| row[name].as_u64().unwrap());
        scene["rows"].as_array().unwrap().iter().map(figures).collect::<Vec<_>>()
    };
    assert_eq!(scene("--callers 40 --keys 2"), [[2, 38, 0], [2, 40, 0], [3, 0, 1], [2, 0, 1]]);
    assert_eq!(scene("--callers 1"), [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]);
    assert_eq!(scene("--callers 20 --backend noop:"), [[20, 0, 0], [20, 0, 0], [20, 0, 1], [20, 0, 1]]);
}

#[test]
fn a_late_release_by_plain_del_lets_a_third_owner_in_and_one_by_token_does_not() {
    let scene = scene("unlock", "");
    let [plain, token] = [0, 1].map(|row| scene["rows"][row]["leases"].as_u64().unwrap());
    assert!(plain >= 3, "{plain}");
    assert_eq!(token, 2);
    assert_eq!(scene["rows"][0]["queries"].as_u64(), Some(plain));
    assert_eq!(scene["rows"][1]["queries"], 2);
}

#[test]
fn the_no_op_backend_switches_it_all_off() {
    assert_eq!(row("single-flight", "--callers 20 --backend noop:")["queries"], 20);
}

#[test]
fn what_is_printed_where_there_is_no_terminal_is_plain_text() {
    let output = stampede("--callers 12 --load-ms 5 --scene single-flight --scene losers");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
    let columns = ["scene", "callers", "queries", "p50", "p99", "max", "stale", "also"];
    assert!(text.lines().any(|line| line.split_whitespace().eq(columns)), "{text}");
    assert!(text.contains("12 callers, 1 key, a query takes 5 ms, backend memory:"), "{text}");
    assert_eq!(text.matches("expected: ").count(), 2, "{text}");
    assert_eq!(text.matches(" - ok\n").count(), 2, "{text}");
}

#[test]
fn mistakes_get_a_sentence_and_exit_code_2() {
    mistakes(&[
        ("--callers 0", "0 is not in 1..=100000"),
        ("--callers 100001", "100001 is not in 1..=100000"),
        ("--callers -1", "unexpected argument '-1'"),
        ("--callers many", "invalid value 'many' for '--callers <N>'"),
        ("--keys 0", "0 is not in 1..=100000"),
        ("--callers 5 --keys 6", "`--keys` may be at most `--callers`"),
        ("--load-ms 0", "0 is not in 1..=60000"),
        ("--load-ms 60001", "60001 is not in 1..=60000"),
        ("--scene rodeo", "possible values: no-protection, single-flight"),
        ("--scene leader-killed", "add `--processes 4 --backend redis-local:`"),
        (
            "--backend redis://:secret@host",
            "no backend `redis:`: write `memory:` or `noop:`, or add `--processes 4`",
        ),
        ("--backend redis-local:", "add `--processes 4`"),
        ("--backend disk", "no backend: write `memory:` or `noop:`"),
        ("--frobnicate", "unexpected argument '--frobnicate'"),
        ("rodeo", "unexpected argument 'rodeo'"),
    ]);
}

#[test]
fn help_is_no_mistake() {
    let output = stampede("--help");
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let words = [
        "--callers",
        "--keys",
        "--load-ms",
        "--processes",
        "--backend",
        "--scene",
        "--json",
        "cancelled-leader",
        "leader-killed",
    ];
    for word in words {
        assert!(help.contains(word), "{word}");
    }
}
