//! Races in which something goes wrong.

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::race::Race;

/// Four processes on one store, and this fault.
fn fleet(fault: &str, load_ms: u32, lock_ttl_ms: u32) -> Value {
    json!({
        "fault": fault, "backend": "shared", "processes": 4, "callers": 80, "load_ms": load_ms,
        "lock_ttl_ms": lock_ttl_ms,
    })
}

/// The rows that were stored, by version.
fn stored(race: &Race, side: usize) -> Vec<u64> {
    race.what(side, "entry", "stored").iter().filter_map(|line| line["value"].as_u64()).collect()
}

#[tokio::test]
async fn a_killed_leader_has_one_successor_and_loses_its_own_callers_alone() {
    let lab = Lab::start(&[]);
    let alone = json!({ "fault": "leader_killed", "load_ms": 500 });
    let race = Race::run(&lab, &[fleet("leader_killed", 500, 2000), alone]).await;
    for (side, dropped) in [(0, 20), (1, 1)] {
        assert_eq!((race.total(side, "source_reads"), race.total(side, "dropped_loads")), (2, 1));
        assert_eq!((race.answered(side, "dropped"), race.total(side, "loads_at_once")), (dropped, 1));
        assert_eq!(race.answered(side, "failed"), 0);
    }
    // Its lease ends by itself in the store; within a process it is handed over.
    assert_eq!(race.what(0, "lease", "granted").len(), 2);
    assert_eq!(race.what(1, "lease", "granted").len(), 1);
}

#[tokio::test]
async fn a_spawned_load_outlives_its_caller() {
    let lab = Lab::start(&[]);
    let race = Race::run(&lab, &[json!({ "fault": "leader_killed", "load_ms": 500, "spawn": true })]).await;
    assert_eq!((race.total(0, "source_reads"), race.total(0, "dropped_loads")), (1, 0));
    assert_eq!((race.answered(0, "dropped"), race.answered(0, "followed")), (1, 199));
}

#[tokio::test]
async fn a_paused_leader_is_replaced_and_its_old_row_is_not_stored() {
    let lab = Lab::start(&[]);
    let alone = json!({ "fault": "leader_paused", "load_ms": 500, "lock_ttl_ms": 4000 });
    let race = Race::run(&lab, &[fleet("leader_paused", 500, 4000), alone]).await;
    for side in 0..2 {
        assert_eq!((race.total(side, "source_reads"), race.stat(side, "fenced")), (2, 1));
        assert_eq!(stored(&race, side), [2]);
        assert_eq!(race.answered(side, "loaded"), 2);
    }
    assert_eq!(race.what(0, "lease", "refused").len(), 1);
}

#[tokio::test]
async fn release_by_plain_del_takes_the_lease_of_the_second_owner_and_by_token_it_does_not() {
    let lab = Lab::start(&[]);
    // The second owner loads for long enough that a third gets in, however busy the machine is.
    let race = Race::run(&lab, &[fleet("leader_paused", 4000, 5000), fleet("plain_del", 4000, 5000)]).await;
    let (token, plain) = (0, 1);
    assert_eq!((race.total(token, "source_reads"), race.what(token, "lease", "deleted").len()), (2, 0));
    assert_eq!(race.what(token, "lease", "refused").len(), 1);

    let deleted = race.what(plain, "lease", "deleted");
    let granted = race.what(plain, "lease", "granted");
    assert!(race.total(plain, "source_reads") >= 3, "{}", race.totals(plain));
    assert_eq!(deleted[0]["grant"], granted[1]["grant"], "it is the second owner's");
    assert_eq!(deleted[0]["process"], granted[0]["process"], "it is the first owner who deletes it");
    // The second owner's load was for nothing as well.
    assert!(race.stat(plain, "fenced") >= 2, "{}", race.totals(plain));
}

#[tokio::test]
async fn a_failing_load_is_one_load_and_a_stale_copy_hides_it() {
    let lab = Lab::start(&[]);
    let mut stale = fleet("failing_load", 500, 5000);
    (stale["entry"], stale["ttl_ms"]) = (json!("stale"), json!(60_000));
    let race = Race::run(&lab, &[fleet("failing_load", 500, 5000), stale]).await;
    assert_eq!((race.total(0, "source_reads"), race.answered(0, "failed")), (1, 80));
    assert_eq!((race.total(1, "source_reads"), race.answered(1, "stale")), (1, 80));
    let error = race.lines(0, "answer").find_map(|line| line["error"].as_str()).expect("an error");
    assert!(error.contains("the source failed"), "{error}");
}

#[tokio::test]
async fn what_is_invalidated_during_its_load_is_loaded_again() {
    let lab = Lab::start(&[]);
    let alone = json!({ "fault": "invalidate", "load_ms": 500 });
    let race = Race::run(&lab, &[fleet("invalidate", 500, 5000), alone]).await;
    for side in 0..2 {
        assert_eq!((race.total(side, "source_reads"), race.answered(side, "loaded")), (2, 2));
        assert_eq!(stored(&race, side), [2]);
        assert_eq!(race.what(side, "entry", "removed").len(), 1);
    }
}

#[tokio::test]
async fn an_invalidation_does_not_reach_the_memory_of_other_processes() {
    let lab = Lab::start(&[]);
    let mut setting = fleet("invalidate", 500, 5000);
    setting["backend"] = json!("memory");
    let race = Race::run(&lab, &[setting]).await;
    assert_eq!(race.total(0, "source_reads"), 5);
    let mut rows = stored(&race, 0);
    rows.sort_unstable();
    assert_eq!(rows, [1, 1, 1, 2]);
}

#[tokio::test]
async fn while_the_store_is_away_processes_go_on_by_themselves() {
    let lab = Lab::start(&[]);
    let mut setting = fleet("backend_stopped", 300, 1000);
    (setting["arrivals_ms"], setting["soft_ttl_ms"], setting["ttl_ms"]) =
        (json!(3000), json!(300), json!(300));
    let race = Race::run(&lab, &[setting]).await;
    assert_eq!((race.answered(0, "failed"), race.answered(0, "dropped")), (0, 0));
    // What was under way is not stored; it is answered all the same.
    assert!(race.stat(0, "fills") > 1);
    let said: Vec<_> = race.lines(0, "fault").filter_map(|line| line["what"].as_str()).collect();
    assert_eq!(said[0], "the store goes away");
}

#[tokio::test]
async fn without_a_second_look_a_late_question_is_a_second_load() {
    let lab = Lab::start(&[]);
    let race = Race::run(&lab, &[fleet("late_question", 300, 5000), fleet("no_recheck", 300, 5000)]).await;
    assert_eq!((race.total(0, "source_reads"), race.what(0, "lease", "granted").len()), (1, 1));
    assert_eq!((race.total(1, "source_reads"), race.what(1, "lease", "granted").len()), (2, 2));
}

#[tokio::test]
async fn a_load_that_outlives_its_lease_is_one_if_the_lease_is_renewed() {
    let lab = Lab::start(&[]);
    let side = |fault| {
        let mut setting = fleet(fault, 5000, 4000);
        setting["callers"] = json!(4);
        setting
    };
    let race = Race::run(&lab, &[side("none"), side("no_renewal")]).await;
    assert_eq!((race.total(0, "source_reads"), race.stat(0, "fenced")), (1, 0));
    assert!(!race.what(0, "lease", "renewed").is_empty());
    // Each process loads in turn, and for its own caller alone.
    assert!(race.total(1, "source_reads") > 1 && !race.what(1, "lease", "refused").is_empty());
    assert!(race.what(1, "lease", "renewed").is_empty());
}
