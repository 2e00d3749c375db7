//! Several processes, on a server that the program starts, and on nothing that they share.

use serde_json::Value;

use crate::run::{command, mistakes, scene, stampede};

/// The row of the one scene of a fleet.
fn row(name: &str, args: &str) -> Value {
    scene(name, &format!("--callers 42 --processes 4 {args}"))["row"].take()
}

fn numbers<const N: usize>(row: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| row[name].as_u64().unwrap_or_else(|| panic!("no {name} in {row:#}")))
}

#[test]
fn on_a_server_all_processes_together_query_once() {
    let row = row("single-flight", "--backend redis-local:");
    assert_eq!(numbers(&row, ["callers", "queries", "errors"]), [42, 1, 0]);
    let [commands, round_trips, renewals] = numbers(&row, ["commands", "round_trips", "renewals"]);
    // On a busy machine the load goes on for longer: each renewal is sent, and then each of the three that wait may ask
    // once more.
    let more = 4 * renewals;
    let (commands_at_most, round_trips_at_most) = (25 + more, 16 + more);
    assert!((1..=commands_at_most).contains(&commands), "{row:#}");
    assert!((1..=round_trips_at_most).contains(&round_trips), "{row:#}");
}

#[test]
fn by_itself_each_process_queries_once() {
    let row = row("single-flight", "--backend memory:");
    assert_eq!(numbers(&row, ["callers", "queries", "errors"]), [42, 4, 0]);
    assert!(row["commands"].is_null(), "{row:#}");
}

#[test]
fn a_failing_query_is_one_for_all_processes_on_a_server_and_one_for_each_by_itself() {
    for (backend, queries) in [("redis-local:", 1), ("memory:", 4)] {
        let row = row("failing-query", &format!("--backend {backend}"));
        assert_eq!(numbers(&row, ["queries", "errors"]), [queries, 42], "{backend}");
    }
}

#[test]
fn a_killed_leader_has_exactly_one_successor() {
    let row = row("leader-killed", "--backend redis-local:");
    assert_eq!(numbers(&row, ["queries", "errors"]), [2, 0]);
    // The first two processes have a caller more.
    assert!([10, 11].contains(&numbers(&row, ["killed"])[0]), "{row:#}");
    assert!(row["takeover"]["after_lease"].is_number(), "{row:#}");
}

#[test]
fn a_paused_leader_has_one_successor_and_stores_nothing() {
    let row = row("leader-paused", "--backend redis-local:");
    assert_eq!(numbers(&row, ["queries", "errors", "fenced", "killed"]), [2, 0, 1, 0]);
}

#[test]
fn the_no_op_backend_switches_it_all_off_in_every_process() {
    assert_eq!(numbers(&row("single-flight", "--backend noop:"), ["queries"]), [42]);
}

#[test]
fn what_is_printed_has_a_line_for_each_scene() {
    let output = stampede("--callers 8 --processes 2 --load-ms 5 --backend memory:");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("8 callers in 2 processes, 1 key, a query takes 5 ms, backend memory:"), "{text}");
    assert_eq!(text.matches(" - ok\n").count(), 2, "{text}");
}

#[test]
fn without_a_server_to_start_it_says_how_to_get_one() {
    let mut command = command("--processes 2 --backend redis-local:");
    let output = command.env("PATH", "").env_remove("SINGLEFLIGHT_REDIS_SERVER").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("`apt-get install redis-server`") && output.stdout.is_empty(), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_named_without_its_password() {
    // Nobody listens there: a free port may be another test's server by then.
    let output = stampede("--processes 2 --backend valkey://:secret@127.0.0.1:1");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("127.0.0.1:1 cannot be reached"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn mistakes_get_a_sentence_and_exit_code_2() {
    mistakes(&[
        ("--processes 1", "1 is not in 2..=32"),
        ("--processes 33", "33 is not in 2..=32"),
        ("--processes many", "invalid value 'many' for '--processes <N>'"),
        ("--processes 4 --callers 3", "`--processes` may be at most `--callers`"),
        ("--processes 4 --keys 2", "'--processes <N>' cannot be used with '--keys <N>'"),
        ("--processes 4 --scene losers", "`losers` is not one of a fleet: leave out `--processes`"),
        ("--processes 4 --scene leader-killed", "add `--backend redis-local:`"),
        ("--processes 4 --backend rediss://:secret@host", "on one server without TLS"),
        ("--processes 4 --backend redis+cluster://:secret@host", "on one server without TLS"),
        ("--processes 4 --backend redis://host?namespace=secret", "leave `?` and what follows out"),
        ("--processes 4 --backend memcached://:secret@host", "not one that is known"),
        ("--processes 4 --backend redis://:sec/ret@host", "malformed"),
        ("--processes 4 --backend redis:secret", "no `//`"),
        ("--figures --processes 4", "'--figures' cannot be used with one or more of the other"),
    ]);
}
