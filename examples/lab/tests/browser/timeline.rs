//! What the picture tells, and when.

use serde_json::{Value, json};

use crate::controls::Page;

/// What is seen that tells of an end: labels with counts, lost leases, answers.
const TOLD: &str = r#"
    const seen = (css) => [...document.querySelectorAll(css)].filter((node) => node.checkVisibility({ visibilityProperty: true })).length;
    return [seen(".timeline .count"), seen(".timeline .lease-bad"), seen(".timeline .fault"), seen("[data-answers]:not([data-answers='pending'])")];
"#;

/// How many answers are shown at the time of the slider, and how many had been sent by then.
const BY_THEN: &str = r#"
    const lines = races.at(-1).lines.trim().split("\n").map((line) => JSON.parse(line));
    const last = Math.max(...lines.filter(({ kind }) => !["begin", "totals", "end"].includes(kind)).map(({ t }) => t));
    const slider = document.getElementById("replay-scrub");
    slider.value = arguments[0];
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    const shown = [...document.querySelectorAll("[data-answers]:not([data-answers='pending'])")].map((count) => Number(count.textContent));
    const sent = lines.filter(({ kind, t }) => kind === "answer" && t <= (arguments[0] / 2000) * last).length;
    return [shown.reduce((sum, count) => sum + count, 0), sent];
"#;

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_replay_does_not_give_the_end_away() {
    let page = Page::open().await;
    let killed = [
        ("callers", "40"),
        ("processes", "2"),
        ("backend", "shared"),
        ("load_ms", "200"),
        ("lock_ttl_ms", "200"),
        ("fault", "leader_killed"),
    ];
    page.set_all("a", &killed).await;
    page.race().await;
    let whole = page.browser.run(TOLD).await;
    for told in whole.as_array().expect("four counts") {
        assert!(told.as_u64() > Some(0), "labels, lost leases, faults, answers: {whole}");
    }
    page.browser.run("document.getElementById('figure').focus()").await;
    page.browser.press("\u{e011}").await; // home
    assert_eq!(page.browser.run(TOLD).await, json!([0, 0, 0, 0]));
    for place in [300, 900, 1500, 1900, 2000] {
        let answers = page.browser.run_with(BY_THEN, json!([place])).await;
        assert_eq!(answers[0], answers[1], "at {place} of 2000");
    }
    page.browser.press("\u{e010}").await; // end
    assert_eq!(page.browser.run(TOLD).await, whole);
    page.assert_quiet().await;
}

/// How many callers a list of lines tells of that were answered in less than two milliseconds.
fn quick(lines: &[Value]) -> usize {
    let time = |kind: &str, call: &Value| {
        let line = lines.iter().find(|line| line["kind"] == kind && line["call"] == *call);
        line.and_then(|line| line["t"].as_f64())
    };
    let answers = lines.iter().filter(|line| line["kind"] == "answer");
    answers
        .filter(|line| {
            let took = time("answer", &line["call"]).zip(time("arrive", &line["call"]));
            took.is_some_and(|(end, start)| end - start < 2.0)
        })
        .count()
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn answers_at_once_are_marks_and_not_bars() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "80"), ("entry", "fresh"), ("arrivals_ms", "400")]).await;
    let lines = page.race().await;
    // Each lane without a bar says how many are in it: first, or after what it says of one that is alone.
    let marked = r"return [...document.querySelectorAll('.timeline .lane')].filter((lane) => !lane.querySelector('.band'))
                   .reduce((sum, lane) => sum + Number(lane.querySelector('title').textContent.match(/(?:^|: )(\d+) /)[1]), 0)";
    let marked = page.browser.run(marked).await.as_u64().unwrap_or_default();
    let quick = quick(&lines);
    assert!(quick > 0, "nobody is answered at once");
    assert!(marked >= quick as u64, "{marked} of {quick} are marks");
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn loads_that_end_at_different_times_are_told_apart() {
    let page = Page::open().await;
    // Each connection runs ten loads or more, one after the other.
    page.set_all("a", &[("callers", "160"), ("backend", "none"), ("connections", "16")]).await;
    page.race().await;
    let ends = "return new Set([...document.querySelectorAll('.timeline .load .end')].map((end) => end.getAttribute('transform').split(' ')[0])).size";
    let ends = page.browser.run(ends).await.as_u64().unwrap_or_default();
    assert!(ends >= 10, "{ends} ends are drawn");
    page.assert_quiet().await;
}
