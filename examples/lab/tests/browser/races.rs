//! Races with each policy and each fault, started by the page's controls.

use serde_json::{Value, json};
use singleflight_tests::server::Server;

use crate::agree::{assert_agrees, assert_counted};
use crate::controls::{Page, answered, totals};

/// Runs what the controls say, and holds the page to it.
async fn race(page: &Page) -> Vec<Value> {
    let lines = page.race().await;
    assert_eq!(lines.last().map(|line| &line["kind"]), Some(&json!("end")), "{}", page.status().await);
    assert_agrees(page, &lines).await;
    assert_counted(&lines, 0);
    lines
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn each_loser_policy_is_run_and_shown() {
    let page = Page::open().await;
    // The stale copy is there for longer than all of it takes.
    page.set_all("a", &[("callers", "60"), ("load_ms", "150"), ("ttl_ms", "60000")]).await;
    // Without an entry, and with a stale one: how the others than the leader are answered.
    let answers = [
        ("stale", "followed", "stale"),
        ("wait", "followed", "followed"),
        ("default", "default", "stale"),
        ("fail", "failed", "stale"),
    ];
    for (losers, empty, stale) in answers {
        page.set("a", "losers", losers).await;
        for (entry, how) in [("none", empty), ("stale", stale)] {
            page.set("a", "entry", entry).await;
            let lines = race(&page).await;
            assert_eq!(totals(&lines, 0)["source_reads"], 1, "{losers}, {entry}");
            assert_eq!(answered(&lines, 0, how), 59, "{losers}, {entry}: {}", totals(&lines, 0));
        }
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn each_time_out_policy_is_run_and_shown() {
    let page = Page::open().await;
    let impatient = [
        ("callers", "40"),
        ("processes", "2"),
        ("backend", "shared"),
        ("losers", "wait"),
        ("load_ms", "900"),
        ("wait_ms", "100"),
    ];
    page.set_all("a", &impatient).await;
    for (on_timeout, how) in [("load", "loaded"), ("default", "default"), ("fail", "failed")] {
        page.set("a", "on_timeout", on_timeout).await;
        let lines = race(&page).await;
        let least = if on_timeout == "load" { 2 } else { 1 };
        assert!(answered(&lines, 0, how) >= least, "{on_timeout}: {}", totals(&lines, 0));
        let reads = totals(&lines, 0)["source_reads"].as_u64().unwrap_or_default();
        // One for each process, and the leader's.
        assert!(reads >= least && reads <= 3, "{on_timeout}: {}", totals(&lines, 0));
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn each_fault_is_run_and_shown() {
    let page = Page::open().await;
    page.set_all(
        "a",
        &[
            ("callers", "40"),
            ("processes", "3"),
            ("backend", "shared"),
            ("load_ms", "200"),
            ("lock_ttl_ms", "200"),
        ],
    )
    .await;
    let faults = page
        .browser
        .run("return [...document.getElementById('a-fault').options].map((option) => option.value)")
        .await;
    let faults: Vec<String> = serde_json::from_value(faults).expect("a list of texts");
    assert!(faults.len() >= 9, "faults are missing: {faults:?}");
    for fault in &faults {
        page.set("a", "fault", fault).await;
        let lines = race(&page).await;
        let told = lines.iter().filter(|line| line["kind"] == "fault").count();
        let drawn = page.browser.run("return document.querySelectorAll('.timeline .fault').length").await;
        assert_eq!(drawn.as_u64().unwrap_or_default() > 0, told > 0, "{fault}: {drawn} drawn of {told}");
        assert_eq!(told > 0, fault != "none", "{fault} is told of");
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn each_lesson_starts_at_once() {
    let page = Page::open().await;
    let lessons = page
        .browser
        .run("return [...document.querySelectorAll('.lesson')].map((lesson) => lesson.dataset.preset)")
        .await;
    let lessons: Vec<String> = serde_json::from_value(lessons).expect("a list of texts");
    assert!(lessons.len() >= 5, "lessons are missing: {lessons:?}");
    for lesson in &lessons {
        let before = page.asked().await;
        page.browser.click(&format!("[data-preset='{lesson}']")).await;
        let lines = page.finished(before).await;
        assert_agrees(&page, &lines).await;
        for side in 0..2 {
            assert_counted(&lines, side);
        }
        let marked =
            page.browser.text("return document.querySelector('.lesson[aria-current]').dataset.preset").await;
        assert_eq!(&marked, lesson);
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn real_processes_on_a_server_are_raced_and_shown() {
    let server = Server::start();
    let page = Page::open_with(&["--redis", &server.url()]).await;
    // A process that gets no turn for a while keeps its lease, and finds what the others have stored fresh.
    let calm = [
        ("callers", "40"),
        ("processes", "3"),
        ("backend", "redis"),
        ("load_ms", "400"),
        ("lock_ttl_ms", "4000"),
        ("soft_ttl_ms", "30000"),
        ("ttl_ms", "60000"),
    ];
    page.set_all("a", &calm).await;
    for (fault, reads) in [("none", 1), ("leader_killed", 2), ("leader_paused", 2)] {
        page.set("a", "fault", fault).await;
        let lines = race(&page).await;
        assert_eq!(totals(&lines, 0)["source_reads"], reads, "{fault}: {}", totals(&lines, 0));
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn the_largest_race_is_drawn_with_few_shapes() {
    let page = Page::open().await;
    page.browser.click("#compare").await;
    page.set_all("a", &[("callers", "2000"), ("processes", "8"), ("backend", "shared")]).await;
    page.set_all("b", &[("callers", "2000"), ("arrivals_ms", "1000"), ("keys", "16"), ("load_spread", "50")])
        .await;
    let lines = race(&page).await;
    assert_counted(&lines, 1);
    let shapes = page.browser.run("return document.querySelectorAll('.timeline *').length").await;
    let shapes = shapes.as_u64().unwrap_or_default();
    assert!((50..4000).contains(&shapes), "{shapes} shapes for 4000 callers");
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_race_is_seen_while_it_runs_and_can_be_cancelled() {
    let page = Page::open().await;
    let focused = "return document.activeElement.id";
    page.set_all("a", &[("callers", "50"), ("load_ms", "50")]).await;
    race(&page).await;
    // A replay that stands still somewhere does not cut what is drawn next.
    page.browser.click("#replay-back").await;
    // Loads queue, so that it goes on until its limit.
    page.set_all("a", &[("load_ms", "5000"), ("keys", "16"), ("connections", "1")]).await;
    page.browser.click("#run").await;
    page.browser.until("return document.getElementById('figure').ariaBusy === 'true' && document.querySelectorAll('.timeline .lane').length > 0").await;
    assert_eq!(page.status().await, "The race runs …");
    let whole = "return document.querySelector('.cursor').classList.contains('off')";
    // What stands there of the race before goes when the first of this one is drawn.
    page.browser.until(whole).await;
    assert_eq!(page.browser.text(focused).await, "cancel");
    page.browser.click("#cancel").await;
    page.browser.until("return !document.getElementById('run').disabled").await;
    assert_eq!(page.status().await, "Cancelled.");
    assert_eq!(page.browser.text(focused).await, "run");
    let counted = "return document.getElementById('story-count').textContent";
    assert_eq!(page.browser.text(counted).await, "", "moments are counted that are not listed");
    // The server has ended it, too: there is room for another.
    page.browser
        .until(
            "return fetch('/api/lab').then((answer) => answer.json()).then((lab) => lab.races.running === 0)",
        )
        .await;
    page.set_all("a", &[("load_ms", "50"), ("keys", "1"), ("connections", "16")]).await;
    race(&page).await;
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_lesson_that_is_refused_still_ends_the_race_before_it() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "50"), ("load_ms", "5000")]).await;
    page.browser.click("#run").await;
    page.browser.until("return document.querySelectorAll('.timeline .lane').length > 0").await;
    page.browser.run("window.fetch = async () => new Response('too many races', { status: 429 })").await;
    page.browser.click("[data-preset='herd']").await;
    page.browser.until("return document.getElementById('status').className === 'bad'").await;
    assert_eq!(page.status().await, "too many races");
    assert_eq!(page.browser.run("return document.getElementById('figure').ariaBusy").await, Value::Null);
    page.assert_quiet().await;
}
