//! How races end, and what is left of them.

use std::io::Write;
use std::net::TcpStream;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::lab::{Lab, until};
use crate::race::Race;

/// The threads of the lab that are processes of races.
fn threads(lab: &Lab) -> usize {
    let tasks = format!("/proc/{}/task", lab.process.id());
    let names = std::fs::read_dir(tasks).expect("Linux").filter_map(Result::ok);
    let names = names.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("process ")).count()
}

#[tokio::test]
async fn nothing_is_left_when_the_connection_is_closed() {
    let lab = Lab::start(&[]);
    for fault in ["none", "leader_paused"] {
        let side = json!({ "processes": 8, "backend": "shared", "load_ms": 5000, "fault": fault });
        let mut response = lab.ask(&json!({ "sides": [side.clone(), side] })).await;
        assert_eq!(response.status(), StatusCode::OK);
        // Of both sides something has been told, so that all is set up.
        let mut told = String::new();
        while !told.contains("\"kind\":\"load\"") {
            let chunk = response.chunk().await.expect("the race goes on").expect("it has not ended");
            told.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
        assert_eq!((lab.running().await, threads(&lab)), (1, 16));
        drop(response);
        until("the end of the race", async || lab.running().await == 0).await;
        until("the end of its threads", async || threads(&lab) == 0).await;
    }
}

#[tokio::test]
async fn a_race_ends_at_its_limit_and_whoever_waits_is_let_go() {
    let lab = Lab::start(&["--longest", "1"]);
    let side = json!({ "callers": 10, "load_ms": 5000, "processes": 2, "backend": "shared", "keys": 2 });
    let race = Race::seeded(&lab, 1, &[side]).await;
    assert_eq!(race.answered(0, "dropped"), 10);
    assert_eq!(race.what(0, "fault", "the race has reached its limit").len(), 1);
    assert_eq!(race.total(0, "source_reads"), race.total(0, "dropped_loads"));
    until("the end of its threads", async || threads(&lab) == 0).await;
}

#[tokio::test]
async fn the_lab_ends_though_someone_has_begun_to_ask_and_does_not_go_on() {
    let mut lab = Lab::start(&[]);
    let mut half = TcpStream::connect(&lab.address).expect("the lab can be dialled");
    half.write_all(b"POST /api/race HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        .expect("it listens");
    // Answered after the half has been taken in, since connections are taken in one after the other.
    assert_eq!(lab.running().await, 0);
    let id = lab.process.id().to_string();
    let killed = std::process::Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("`kill` can be run").success());
    assert!(lab.process.wait().expect("it can be waited for").success());
    drop(half);
}

#[tokio::test]
async fn the_lab_ends_its_races_when_it_is_told_to_stop() {
    for signal in ["-INT", "-TERM"] {
        let mut lab = Lab::start(&[]);
        let side = json!({ "load_ms": 5000, "processes": 4, "backend": "shared" });
        let response = lab.ask(&json!({ "sides": [side] })).await;
        let id = lab.process.id().to_string();
        let killed = std::process::Command::new("kill").args([signal, &id]).status();
        assert!(killed.expect("`kill` can be run").success());
        let text = response.text().await.expect("the race is told to its end");
        let last = text.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        assert_eq!(last.expect("a line")["kind"], "end");
        assert!(text.contains("the lab is being ended"));
        assert!(lab.process.wait().expect("it can be waited for").success());
    }
}
