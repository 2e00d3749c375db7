//! Races between real processes on a real server.

use std::process::Command;

use serde_json::{Value, json};
use singleflight_tests::server::Server;

use crate::lab::{Lab, until};
use crate::race::Race;

fn fleet(fault: &str) -> Value {
    json!({
        "backend": "redis", "processes": 4, "callers": 80, "load_ms": 1000, "lock_ttl_ms": 4000, "fault": fault,
    })
}

/// The same, where a load takes so long that all processes ask while the first is under way.
fn slow(fault: &str) -> Value {
    let mut fleet = fleet(fault);
    (fleet["load_ms"], fleet["lock_ttl_ms"]) = (json!(3000), json!(6000));
    fleet
}

fn lab(server: &Server) -> Lab {
    Lab::start(&["--redis", &server.url()])
}

/// The processes that the lab has started.
fn children(lab: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{lab}/task")).into_iter().flatten().filter_map(Result::ok);
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    children.flat_map(|ids| ids.split(' ').filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

fn lives(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn real_processes_load_once_on_a_server_and_once_each_without() {
    let server = Server::start();
    let lab = lab(&server);
    let mut alone = slow("none");
    alone["backend"] = json!("memory");
    let race = Race::run(&lab, &[slow("none"), alone]).await;
    assert_eq!((race.total(0, "source_reads"), race.total(1, "source_reads")), (1, 4));
    assert_eq!((race.answered(0, "waited"), race.total(0, "stats_lost")), (60, 0));
    assert!(server.calls("evalsha") + server.calls("eval") > 0, "it is on the server");
    assert!(children(lab.process.id()).is_empty());
}

#[tokio::test]
async fn what_is_stored_at_the_start_is_on_the_server() {
    let server = Server::start();
    let lab = lab(&server);
    let mut stale = slow("none");
    (stale["entry"], stale["ttl_ms"]) = (json!("stale"), json!(60_000));
    let race = Race::run(&lab, &[stale]).await;
    assert_eq!((race.total(0, "source_reads"), race.answered(0, "stale")), (1, 79));
}

#[tokio::test]
async fn a_killed_process_has_one_successor() {
    let server = Server::start();
    let lab = lab(&server);
    let race = Race::run(&lab, &[fleet("leader_killed")]).await;
    assert_eq!((race.total(0, "source_reads"), race.total(0, "dropped_loads")), (2, 1));
    assert_eq!((race.answered(0, "dropped"), race.total(0, "stats_lost")), (20, 1));
    assert_eq!(race.total(0, "loads_at_once"), 1);
}

#[tokio::test]
async fn a_stopped_process_is_replaced_and_its_old_row_is_not_stored() {
    let server = Server::start();
    let lab = lab(&server);
    let race = Race::run(&lab, &[fleet("leader_paused")]).await;
    assert_eq!((race.total(0, "source_reads"), race.stat(0, "fenced")), (2, 1));
    let stored = race.what(0, "entry", "stored");
    assert_eq!((stored.len(), &stored[0]["value"]), (1, &json!(2)));
}

#[tokio::test]
async fn other_faults_are_the_same_with_real_processes() {
    let server = Server::start();
    let lab = lab(&server);
    let race = Race::run(&lab, &[slow("failing_load"), fleet("invalidate")]).await;
    assert_eq!((race.total(0, "source_reads"), race.answered(0, "failed")), (1, 80));
    assert_eq!((race.total(1, "source_reads"), race.answered(1, "loaded")), (2, 2));
    let mut away = fleet("backend_stopped");
    (away["arrivals_ms"], away["load_ms"]) = (json!(2000), json!(300));
    let race = Race::run(&lab, &[away]).await;
    assert_eq!((race.answered(0, "failed"), race.answered(0, "dropped")), (0, 0));
}

/// However the race ends: nobody watches any more, the lab is told to stop, the lab is killed.
#[tokio::test]
async fn no_process_is_left_behind() {
    let server = Server::start();
    for end in ["close", "-INT", "-KILL"] {
        for fault in ["none", "leader_paused"] {
            let mut lab = lab(&server);
            let id = lab.process.id();
            let mut side = fleet(fault);
            (side["load_ms"], side["lock_ttl_ms"]) = (json!(2000), json!(10_000));
            let mut response = lab.ask(&json!({ "sides": [side] })).await;
            let sign = if fault == "none" { "\"kind\":\"load\"" } else { "stands still" };
            let mut told = String::new();
            while !told.contains(sign) {
                let chunk = response.chunk().await.expect("the race goes on").expect("it has not ended");
                told.push_str(std::str::from_utf8(&chunk).expect("text"));
            }
            let started = children(id);
            assert!(started.len() >= 4, "{end}, {fault}");
            if end == "close" {
                drop(response);
            } else {
                let killed = Command::new("kill").args([end, &id.to_string()]).status();
                assert!(killed.expect("`kill` can be run").success());
                drop(response);
                let _ = lab.process.wait();
            }
            until("the end of its processes", async || !started.iter().copied().any(lives)).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_of_at_the_start() {
    for (url, reason) in [("redis://127.0.0.1:1", "127.0.0.1:1"), ("http://127.0.0.1", "redis://")] {
        let lab = Command::new(env!("CARGO_BIN_EXE_lab")).args(["--port", "0", "--redis", url]).output();
        let lab = lab.expect("the lab can be started");
        let said = String::from_utf8_lossy(&lab.stderr).into_owned();
        assert!(!lab.status.success() && said.starts_with("error: ") && said.contains(reason), "{said}");
    }
}
