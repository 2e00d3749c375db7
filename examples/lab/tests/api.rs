//! What the lab refuses, and with what words.

use std::io::{Read, Write};
use std::net::TcpStream;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::lab::{Lab, until};

#[path = "support/lab.rs"]
mod lab;
#[path = "support/started.rs"]
mod started;

/// What is wrong with a race, as `field: message`.
async fn mistakes(lab: &Lab, race: Value) -> Vec<String> {
    let response = lab.ask(&race).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{race}");
    let said: Value = response.json().await.expect("it is JSON");
    let mistakes = said["mistakes"].as_array().expect("a list");
    let text = |mistake: &Value, field: &str| mistake[field].as_str().expect("a text").to_owned();
    assert_eq!(said["error"], mistakes[0]["message"]);
    mistakes
        .iter()
        .map(|mistake| format!("{}: {}", text(mistake, "field"), text(mistake, "message")))
        .collect()
}

#[tokio::test]
async fn every_number_is_held_to_its_bounds_by_a_sentence() {
    let lab = Lab::start(&[]);
    let described: Value = lab.get("/api/lab").await.json().await.expect("it is JSON");
    let bounds = described["bounds"].as_object().expect("an object");
    let numbers: Vec<_> = bounds.iter().filter(|(_, bound)| !bound["max"].is_null()).collect();
    assert_eq!(numbers.len(), 12);
    for (field, bound) in numbers {
        let (min, max) = (&bound["min"], &bound["max"]);
        let above = max.as_u64().expect("a number") + 1;
        for bad in [json!(above), json!(-1), json!("many"), json!([1])] {
            let kind = if field == "early" { "a number" } else { "a whole number" };
            let expected = format!("{field}: {field} must be {kind} from {min} to {max}; this is {bad}");
            let mut setting = json!({});
            setting[field] = bad;
            assert_eq!(mistakes(&lab, json!({ "sides": [setting] })).await[0], expected);
        }
    }
    assert_eq!(
        mistakes(&lab, json!({ "sides": [{ "callers": 1.5 }] })).await,
        ["callers: callers must be a whole number from 1 to 2000; this is 1.5"]
    );
}

#[tokio::test]
async fn every_word_and_flag_is_known_or_refused_with_the_good_ones() {
    let lab = Lab::start(&[]);
    let described: Value = lab.get("/api/lab").await.json().await.expect("it is JSON");
    for (field, words) in described["choices"].as_object().expect("an object") {
        let words = words.as_array().expect("a list").iter().map(|word| word["value"].to_string());
        let words = words.collect::<Vec<_>>().join(", ");
        let mut setting = json!({});
        setting[field] = json!("magic");
        let expected = format!("{field}: {field} must be one of {words}; this is \"magic\"");
        assert_eq!(mistakes(&lab, json!({ "sides": [setting] })).await, [expected]);
    }
    assert_eq!(
        mistakes(&lab, json!({ "sides": [{ "spawn": 1 }] })).await,
        ["spawn: spawn must be true or false; this is 1"]
    );
}

#[tokio::test]
async fn all_mistakes_of_both_sides_are_told_at_once() {
    let lab = Lab::start(&[]);
    let sides = json!([
        { "callers": 5000, "processes": 0, "losers": "cry" },
        { "colour": "red", "soft_ttl_ms": 3000, "ttl_ms": 2000 },
    ]);
    assert_eq!(
        mistakes(&lab, json!({ "seed": "x", "sides": sides, "speed": 1 })).await,
        [
            "seed: seed must be a whole number from 0 to 9007199254740991; this is \"x\"",
            "speed: a race has no `speed`; it has `seed` and `sides`",
            "callers: callers must be a whole number from 1 to 2000; this is 5000",
            "processes: processes must be a whole number from 1 to 8; this is 0",
            "losers: losers must be one of \"stale\", \"wait\", \"default\", \"fail\"; this is \"cry\"",
            "colour: a setting has no `colour`",
            "soft_ttl_ms: soft_ttl_ms must not be longer than ttl_ms: after 2000 ms the entry is gone; this is 3000",
        ]
    );
}

#[tokio::test]
async fn what_does_not_go_together_is_refused_with_a_reason() {
    let lab = Lab::start(&[]);
    let taught = "needs backend \"shared\": real backends have no such mistake";
    let meets = "needs two processes or more: they meet in the store alone";
    let cases = [
        (json!({ "backend": "redis" }), "the lab was started without; give it `--redis redis://…`"),
        (json!({ "backend": "none", "entry": "fresh" }), "with backend \"none\", which keeps nothing"),
        (
            json!({ "entry": "stale", "ttl_ms": 1000 }),
            "soft_ttl_ms and ttl_ms are the same: it would be gone",
        ),
        (json!({ "fault": "plain_del", "processes": 2 }), taught),
        (json!({ "fault": "no_recheck", "backend": "none", "processes": 2 }), taught),
        (json!({ "fault": "no_renewal", "backend": "shared" }), meets),
        (
            json!({ "fault": "backend_stopped" }),
            "needs a store that can be away: backend \"shared\" or \"redis\"",
        ),
    ];
    // Of two that do not go together, one that is bad by itself is told of once.
    for (setting, field) in
        [(json!({ "ttl_ms": 5 }), "ttl_ms"), (json!({ "soft_ttl_ms": 70_000 }), "soft_ttl_ms")]
    {
        let said = mistakes(&lab, json!({ "sides": [setting] })).await;
        assert!(
            said.len() == 1 && said[0].starts_with(&format!("{field}: {field} must be a whole")),
            "{said:?}"
        );
    }
    for (setting, reason) in cases {
        let said = mistakes(&lab, json!({ "sides": [setting] })).await;
        assert!(said.len() == 1 && said[0].contains(reason), "{said:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_race_is_refused() {
    let lab = Lab::start(&[]);
    let sides = ["sides: sides must be a list of one or two settings"];
    assert_eq!(mistakes(&lab, json!({})).await, sides);
    assert_eq!(mistakes(&lab, json!({ "sides": [] })).await, sides);
    assert_eq!(mistakes(&lab, json!({ "sides": [{}, {}, {}] })).await, sides);
    assert_eq!(mistakes(&lab, json!({ "sides": [7] })).await, [": a setting must be an object; this is 7"]);
    assert_eq!(mistakes(&lab, json!(7)).await, [": the body must be an object with `seed` and `sides`"]);
    let (status, said) = by_hand(&lab, "localhost", "POST", "application/json", "{");
    assert!(status == 400 && said.contains("the body must be JSON"), "{said}");
    let (status, said) = by_hand(&lab, "localhost", "POST", "application/json", &" ".repeat(20_000));
    assert!(status == 413 && said.contains(r#"{"error":"a race takes no more than 16384 bytes"}"#), "{said}");
    let (status, said) = by_hand(&lab, "localhost", "DELETE", "application/json", "{}");
    assert!(status == 405 && said.contains(r#"{"error":"this cannot be asked for with DELETE"}"#), "{said}");
    // What a form on another page could send without asking.
    let (status, said) = by_hand(&lab, "localhost", "POST", "text/plain", "{}");
    assert!(status == 415 && said.contains("application/json"), "{said}");
}

#[tokio::test]
async fn only_this_machine_is_answered_and_only_by_its_own_names() {
    let lab = Lab::start(&[]);
    let port = lab.address.rsplit(':').next().expect("a port");
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        assert_eq!(by_hand(&lab, name, "GET", "", "").0, 200, "{name}");
        assert_eq!(by_hand(&lab, &format!("{name}:{port}"), "GET", "", "").0, 200, "{name}");
    }
    for name in [
        "lab.example.org",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "192.168.0.1",
        "",
        "localhost:80:80",
    ] {
        let (status, said) = by_hand(&lab, name, "GET", "", "");
        assert!(status == 403 || (name.is_empty() && status == 400), "{name}: {said}");
    }
    assert!(
        by_hand(&lab, "lab.example.org", "GET", "", "").1.contains("127.0.0.1, [::1] and localhost alone")
    );
    assert_eq!(by_hand(&lab, "lab.example.org", "POST", "application/json", "{}").0, 403);
    // A page from elsewhere, which a browser names, and names that the first of two hides.
    for (name, more) in
        [("Origin", "http://lab.example.org"), ("Origin", "null"), ("Host", "lab.example.org")]
    {
        let host = format!("localhost\r\n{name}: {more}");
        assert_eq!(by_hand(&lab, &host, "POST", "application/json", "{}").0, 403, "{name}: {more}");
    }
    let own = format!("LOCALHOST\r\nOrigin: http://localhost:{port}");
    assert_eq!(by_hand(&lab, &own, "GET", "", "").0, 200, "its own page");
    // Who else is on the network finds nobody: the address that it listens on is 127.0.0.1, as the kernel writes it.
    let port = port.parse::<u16>().expect("a port");
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
    assert!(sockets.contains(&format!(" 0100007F:{port:04X} 00000000:0000 0A ")), "{sockets}");
    let all = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    assert!(!all.contains(&format!(":{port:04X} 00000000000000000000000000000000:0000 0A ")), "{all}");
}

/// Sends a request by hand, with whatever `Host`; gives the status and all that is said.
fn by_hand(lab: &Lab, host: &str, method: &str, kind: &str, body: &str) -> (u16, String) {
    let path = if method == "POST" { "/api/race" } else { "/api/lab" };
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    let request = format!("{head}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut connection = TcpStream::connect(&lab.address).expect("the lab can be dialled");
    connection.write_all(request.as_bytes()).expect("it listens");
    let mut said = String::new();
    connection.read_to_string(&mut said).expect("it answers");
    let status = said.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, said)
}

#[tokio::test]
async fn the_page_and_its_files_are_there_and_nothing_else_is() {
    let lab = Lab::start(&[]);
    let page = lab.get("/").await;
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    assert!(
        page.headers()["content-security-policy"].to_str().expect("text").starts_with("default-src 'self';")
    );
    let page = page.text().await.expect("text");
    let links: Vec<&str> = page.split('"').filter(|part| part.starts_with("/page/")).collect();
    assert!(links.len() > 2, "{page}");
    for link in links {
        assert_eq!(lab.get(link).await.status(), StatusCode::OK, "{link}");
    }
    for path in ["/page/none.js", "/page/..%2fCargo.toml", "/page/", "/Cargo.toml", "/api/none"] {
        let response = lab.get(path).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let said: Value = response.json().await.expect("it is JSON");
        assert!(said["error"].is_string(), "{path}: {said}");
    }
}

#[tokio::test]
async fn every_preset_is_a_race_that_is_accepted_and_says_what_it_teaches() {
    let lab = Lab::start(&[]);
    let described: Value = lab.get("/api/lab").await.json().await.expect("it is JSON");
    let presets = described["presets"].as_array().expect("a list");
    assert!(presets.len() > 10);
    for preset in presets {
        let lesson = preset["lesson"].as_str().expect("a text");
        assert!(lesson.ends_with('.') && lesson.matches(". ").count() <= 2, "{lesson}");
        let response = lab.ask(&json!({ "sides": preset["sides"] })).await;
        assert_eq!(response.status(), StatusCode::OK, "{preset}");
        drop(response);
        until("the end of a race that nobody watches", async || lab.running().await == 0).await;
    }
}

#[tokio::test]
async fn more_races_than_there_is_room_for_are_told_to_wait() {
    let lab = Lab::start(&[]);
    let long = json!({ "sides": [{ "load_ms": 5000, "callers": 1 }] });
    let (_one, two) = (lab.ask(&long).await, lab.ask(&long).await);
    let refused = lab.ask(&long).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let said: Value = refused.json().await.expect("it is JSON");
    assert_eq!(said["error"], "2 races are running already; wait for one to end");
    drop(two);
    until("room", async || lab.running().await < 2).await;
    assert_eq!(lab.ask(&long).await.status(), StatusCode::OK);
}
