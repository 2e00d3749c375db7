//! Races in which nothing goes wrong.

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::race::Race;

/// A setting with something in the place of the default.
fn with(mut setting: Value, field: &str, value: Value) -> Value {
    setting[field] = value;
    setting
}

#[tokio::test]
async fn two_hundred_misses_become_one_load() {
    let lab = Lab::start(&[]);
    let race = Race::run(&lab, &[json!({ "backend": "none" }), json!({})]).await;
    assert_eq!((race.total(0, "source_reads"), race.answered(0, "loaded")), (200, 200));
    assert_eq!((race.total(1, "source_reads"), race.total(1, "loads_at_once")), (1, 1));
    assert_eq!((race.answered(1, "loaded"), race.answered(1, "followed")), (1, 199));
}

#[tokio::test]
async fn processes_by_themselves_load_once_each_and_the_fleet_once() {
    let lab = Lab::start(&[]);
    let fleet = |backend| json!({ "processes": 8, "load_ms": 500, "backend": backend });
    let race = Race::run(&lab, &[fleet("memory"), fleet("shared")]).await;
    assert_eq!((race.total(0, "source_reads"), race.total(1, "source_reads")), (8, 1));
    assert_eq!(race.total(1, "coalesced"), 199);
    assert!(race.answered(1, "waited") > 0);
    assert_eq!(race.what(0, "entry", "stored").len(), 8);
    assert_eq!(race.what(1, "entry", "stored").len(), 1);
}

#[tokio::test]
async fn both_sides_have_the_same_arrivals_and_each_seed_has_its_own() {
    let lab = Lab::start(&[]);
    let setting = json!({ "callers": 100, "arrivals_ms": 300, "keys": 5, "processes": 3, "load_spread": 50, "load_ms": 20 });
    let calls = |race: &Race, side| {
        let begin = race.lines(side, "begin").next().expect("a beginning");
        begin["calls"].clone()
    };
    let sides = [setting.clone(), with(setting, "backend", json!("shared"))];
    let (one, again, other) = (
        Race::seeded(&lab, 7, &sides).await,
        Race::seeded(&lab, 7, &sides).await,
        Race::seeded(&lab, 8, &sides).await,
    );
    assert_eq!(calls(&one, 0).as_array().map(Vec::len), Some(100));
    assert_eq!(calls(&one, 0), calls(&one, 1));
    assert_eq!(calls(&one, 0), calls(&again, 0));
    assert_ne!(calls(&one, 0), calls(&other, 0));
    for (field, many) in [("key", 5), ("process", 3)] {
        let mut seen: Vec<u64> = calls(&one, 0)
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|call| call[field].as_u64())
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), many, "{field}");
    }
}

#[tokio::test]
async fn those_who_do_not_load_do_as_they_are_told() {
    let lab = Lab::start(&[]);
    let empty = json!({ "backend": "shared", "processes": 4, "load_ms": 1000 });
    let stale = with(with(empty.clone(), "entry", json!("stale")), "ttl_ms", json!(60_000));
    let policies: [(&str, &[&str], &[&str]); 4] = [
        ("stale", &["followed", "waited"], &["stale"]),
        ("wait", &["followed", "waited"], &["followed", "waited"]),
        ("default", &["default"], &["stale"]),
        ("fail", &["failed"], &["stale"]),
    ];
    for (losers, without, with_copy) in policies {
        let sides =
            [with(empty.clone(), "losers", json!(losers)), with(stale.clone(), "losers", json!(losers))];
        let race = Race::run(&lab, &sides).await;
        for (side, how) in [without, with_copy].into_iter().enumerate() {
            assert_eq!(race.total(side, "source_reads"), 1, "{losers}");
            let answered: u64 = how.iter().map(|how| race.answered(side, how)).sum();
            assert_eq!(
                (race.answered(side, "loaded"), answered),
                (1, 199),
                "{losers}: {}",
                race.totals(side)
            );
        }
        // The stale row is an old one, and whoever waited has the new one.
        assert_eq!(race.total(1, "old_answers"), race.answered(1, "stale"), "{losers}");
    }
}

#[tokio::test]
async fn a_fresh_entry_is_all_that_is_needed() {
    let lab = Lab::start(&[]);
    let fresh = json!({ "entry": "fresh", "soft_ttl_ms": 60_000, "ttl_ms": 60_000 });
    let sides = [fresh.clone(), with(with(fresh, "backend", json!("shared")), "processes", json!(4))];
    let race = Race::run(&lab, &sides).await;
    for side in 0..2 {
        assert_eq!((race.total(side, "source_reads"), race.answered(side, "loaded")), (0, 0));
    }
    assert_eq!((race.answered(0, "hit"), race.total(0, "backend_commands")), (200, 0));
}

#[tokio::test]
async fn a_load_of_its_own_leaves_the_stale_copy_to_everybody() {
    let lab = Lab::start(&[]);
    let stale = json!({ "entry": "stale", "ttl_ms": 60_000, "load_ms": 500, "spawn": true });
    let race = Race::run(&lab, &[stale.clone(), with(stale, "backend", json!("shared"))]).await;
    for side in 0..2 {
        assert_eq!((race.answered(side, "stale"), race.total(side, "source_reads")), (200, 1));
        // It landed, although nobody waited for it.
        assert_eq!((race.total(side, "dropped_loads"), race.stat(side, "fills")), (0, 1));
    }
}

#[tokio::test]
async fn an_early_refresh_comes_while_the_entry_is_fresh() {
    let lab = Lab::start(&[]);
    let fresh = json!({
        "entry": "fresh", "backend": "shared", "load_ms": 1000, "soft_ttl_ms": 20_000, "ttl_ms": 60_000,
    });
    let race = Race::run(&lab, &[fresh.clone(), with(fresh, "early", json!(10))]).await;
    assert_eq!(race.total(0, "source_reads"), 0);
    assert!(race.total(1, "source_reads") > 0);
    assert_eq!((race.answered(1, "stale"), race.total(1, "loads_at_once")), (0, 1));
}

#[tokio::test]
async fn whose_wait_budget_runs_out_does_as_it_is_told() {
    let lab = Lab::start(&[]);
    let impatient = json!({ "backend": "shared", "processes": 4, "load_ms": 3000, "wait_ms": 50 });
    let told = |on_timeout: &str| with(impatient.clone(), "on_timeout", json!(on_timeout));
    let race = Race::run(&lab, &[told("load"), told("default")]).await;
    // The leader's, and one for each process at most.
    assert!((2..=5).contains(&race.total(0, "source_reads")), "{}", race.totals(0));
    assert_eq!((race.total(1, "source_reads"), race.answered(1, "default")), (1, 199));
    let race = Race::run(&lab, &[told("fail")]).await;
    assert_eq!((race.total(0, "source_reads"), race.answered(0, "failed")), (1, 199));
    assert_eq!(race.stat(0, "timeouts"), 199);
}
