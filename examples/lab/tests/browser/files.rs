//! What goes out of the page and comes back: links, JSON, pictures, and what is refused.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agree::assert_agrees;
use crate::controls::{Page, totals};

const SETTING: &str = "return [...document.querySelectorAll('#setting input, #setting select')].map((field) => \
                       [field.id, field.type === 'checkbox' ? field.checked : field.value])";

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_link_reproduces_the_setting() {
    let page = Page::open().await;
    page.browser.click("#compare").await;
    page.set_all(
        "a",
        &[
            ("callers", "77"),
            ("load_spread", "30"),
            ("lock_ttl_ms", "250"),
            ("losers", "wait"),
            ("early", "0.5"),
        ],
    )
    .await;
    page.set_all(
        "b",
        &[
            ("keys", "3"),
            ("spawn", "true"),
            ("entry", "stale"),
            ("fault", "failing_load"),
            ("wait_ms", "400"),
        ],
    )
    .await;
    page.browser.type_into("#seed", "11").await;
    let (setting, first) = (page.browser.run(SETTING).await, page.race().await);
    let link = page.link().await;
    assert!(link.len() < 250, "the link is compact: {link}");
    page.browser.open(&link).await;
    assert_eq!(page.browser.run(SETTING).await, setting, "{link}");
    let second = page.race().await;
    let begun = |lines: &[Value]| -> Vec<Value> {
        lines.iter().filter(|line| line["kind"] == "begin").cloned().collect()
    };
    assert_eq!(begun(&first).len(), 2);
    assert_eq!(begun(&first), begun(&second), "the same settings, and the same callers at the same times");
    page.assert_quiet().await;
}

/// Waits for a file that the browser saves.
async fn saved(page: &Page, extension: &str) -> PathBuf {
    let begun = Instant::now();
    loop {
        let files = std::fs::read_dir(page.browser.downloads.path()).expect("the folder is there");
        let mut paths = files.map(|file| file.expect("it can be read").path());
        if let Some(path) = paths.find(|path| path.extension().is_some_and(|end| end == extension)) {
            return path;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no {extension} is saved");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_race_is_saved_as_json_and_opened_again() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "30"), ("losers", "wait")]).await;
    let lines = page.race().await;
    page.browser.click("#save-json").await;
    let path = saved(&page, "json").await;
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("it can be read")).expect("it is JSON");
    // Numbers as the browser reads them: `0.0` is `0` there.
    let sent = "return races.at(-1).lines.trim().split('\\n').map((line) => JSON.parse(line))";
    assert_eq!(file["events"], page.browser.run(sent).await, "all that was sent, as it was sent");
    let link = page.link().await;

    page.browser.open(&page.lab.url).await;
    page.browser.give("#file", &path).await;
    page.browser.until("return document.querySelectorAll('[data-readout]').length > 0").await;
    assert_agrees(&page, &lines).await;
    assert_eq!(page.link().await, link, "the setting comes with it");
    assert_eq!(page.asked().await, 0, "nothing is run again");

    let other = page.browser.downloads.path().join("other.txt");
    std::fs::write(&other, "{}").expect("the folder can be written to");
    page.browser.give("#file", &other).await;
    page.browser.until("return document.getElementById('status').className === 'bad'").await;
    assert!(
        page.status().await.starts_with("other.txt is no race that was saved here"),
        "{}",
        page.status().await
    );
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_file_that_cannot_be_shown_is_refused_with_a_sentence() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "30"), ("entry", "stale")]).await;
    let lines = page.race().await;
    let shown = "return document.querySelector('.timeline').outerHTML";
    let kept = page.browser.text(shown).await;
    let at = |kind: &str| lines.iter().position(|line| line["kind"] == kind).expect("there is one");
    let setting = lines[at("begin")]["setting"].clone();
    let good = json!({ "lab": 1, "seed": 1, "sides": [setting], "events": lines });
    let mistakes = [
        (format!("/events/{}/setting/keys", at("begin")), json!(1e9)),
        (format!("/events/{}/calls", at("begin")), json!({})),
        (format!("/events/{}/t", at("arrive")), json!("soon")),
        (format!("/events/{}/side", at("arrive")), json!(7)),
        (format!("/events/{}/kind", at("load")), json!("take")),
        (format!("/events/{}/how", at("answer")), json!("somehow")),
        (format!("/events/{}/latency_ms/max", at("totals")), json!("fast")),
        (format!("/events/{}", at("answer")), Value::Null),
        ("/sides/0/load_ms".to_owned(), json!("long")),
        ("/sides/0".to_owned(), json!(5)),
        ("/seed".to_owned(), json!(1_u64 << 60)),
    ];
    for (place, mistake) in mistakes {
        let mut bad = good.clone();
        *bad.pointer_mut(&place).unwrap_or_else(|| panic!("{place} is not there")) = mistake;
        let path = page.browser.downloads.path().join("bad.txt");
        std::fs::write(&path, bad.to_string()).expect("the folder can be written to");
        page.browser.run("document.getElementById('status').replaceChildren()").await;
        page.browser.give("#file", &path).await;
        page.browser.until("return document.getElementById('status').textContent !== ''").await;
        let said = page.status().await;
        assert!(said.starts_with("bad.txt is no race that can be shown: "), "{place}: {said}");
        assert_eq!(page.browser.text(shown).await, kept, "{place}: what was shown stays");
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn the_picture_is_saved_as_svg_that_stands_alone() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "30"), ("fault", "failing_load")]).await;
    page.race().await;
    page.browser.click("#save-svg").await;
    let path = saved(&page, "svg").await;
    let text = std::fs::read_to_string(&path).expect("it can be read");
    assert!(text.len() < 200_000, "{} bytes", text.len());
    assert!(!text.contains("var("), "colours are written out");
    let lanes = "return document.querySelectorAll('.lane').length";
    let on_page = page.browser.run(lanes).await;
    page.assert_quiet().await;

    page.browser.visit(&format!("file://{}", path.display())).await;
    assert_eq!(
        page.browser.run("return document.documentElement.nodeName").await,
        "svg",
        "it is well-formed"
    );
    assert_eq!(page.browser.run(lanes).await, on_page, "all lanes are in it");
    assert_ne!(on_page, 0);
    let styled = "return getComputedStyle(document.querySelector('.label')).fill";
    assert_ne!(page.browser.text(styled).await, "rgb(0, 0, 0)", "its style is in it");
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn bad_input_is_refused_at_its_field_with_the_servers_sentence() {
    let page = Page::open().await;
    page.set("a", "callers", "20").await;
    page.race().await;
    let shown = "return [...document.querySelectorAll('.timeline .lane, #readouts td, #story li')].map((shown) => shown.textContent)";
    let kept = page.browser.run(shown).await;
    assert_ne!(kept, json!([]));
    page.browser.click("#compare").await;
    page.set("a", "callers", "5000").await;
    page.set("b", "load_ms", "soon").await;
    let before = page.asked().await;
    page.browser.click("#run").await;
    page.browser.until(&format!("return races.length > {before} && races.at(-1).ended")).await;
    let lines = page.browser.text("return races.at(-1).lines").await;
    page.browser.until("return document.getElementById('status').className === 'bad'").await;
    let refused: Value = serde_json::from_str(&lines).expect("the answer is JSON");
    assert_eq!(page.status().await, refused["error"].as_str().unwrap_or_default());
    let mistakes = refused["mistakes"].as_array().expect("a list of mistakes");
    assert_eq!(mistakes.len(), 2, "{refused}");
    for (mistake, field) in mistakes.iter().zip(["a-callers", "b-load_ms"]) {
        let told = page
            .browser
            .text(&format!("return document.getElementById('{field}-mistake').textContent"))
            .await;
        assert_eq!(told, mistake["message"].as_str().unwrap_or_default());
        let marked = page
            .browser
            .text(&format!("return document.getElementById('{field}').getAttribute('aria-invalid')"))
            .await;
        assert_eq!(marked, "true");
    }
    assert_eq!(page.browser.text("return document.activeElement.id").await, "a-callers");
    assert_eq!(page.browser.run(shown).await, kept, "the last race stays");
    // The browser itself says that an answer was not a good one, and the page nothing.
    assert_eq!(page.browser.run("return wrong").await, json!([]));

    // Mended, it runs.
    page.set("a", "callers", "20").await;
    page.set("b", "load_ms", "50").await;
    let lines = page.race().await;
    assert_eq!(totals(&lines, 0)["source_reads"], 1);
    assert_eq!(page.browser.run("return document.querySelectorAll('[aria-invalid]').length").await, 0);
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_link_that_makes_no_sense_is_refused_with_a_sentence() {
    let page = Page::open().await;
    for hash in
        ["#a=callers:-1", "#seed=1&a=losers:%3Cb%3E", "#seed=x&a=", "#a=backend:memory,fault:plain_del"]
    {
        page.browser.open(&format!("{}/{hash}", page.lab.url)).await;
        page.browser.click("#run").await;
        page.browser.until("return document.getElementById('status').className === 'bad'").await;
        assert!(page.status().await.len() > 15, "{hash}: {}", page.status().await);
        assert!(!page.status().await.starts_with("The link"), "the server judges it: {hash}");
        assert_eq!(page.browser.run("return wrong").await, json!([]), "{hash}");
        assert_eq!(
            page.browser.run("return document.querySelectorAll('#setting b').length").await,
            0,
            "text stays text"
        );
    }
    // What cannot be put into the controls is told before it is run.
    for (hash, told) in [
        ("#a=zzz:4", "a setting has no “zzz”"),
        ("#a=%", "a setting has no “%”"),
        ("#a=callers:", "“callers” has no value that can be read"),
        ("#a=callers:%E0", "“callers” has no value that can be read"),
        ("#a=callers:20,callers:30", "“callers” is said twice of one side"),
        ("#a=callers:20&a=callers:30", "“a=” is there twice"),
        ("#a=spawn:perhaps", "“spawn” must be true or false; this is perhaps"),
        ("#seed=&a=", "“seed” has no value that can be read"),
        ("#speed=7&a=", "a link has no “speed”"),
        ("#seed=7", "the first side, “a=”, is missing"),
    ] {
        page.browser.open(&format!("{}/{hash}", page.lab.url)).await;
        let said = format!("The link cannot be read in full: {told}. The rest of it is filled in.");
        assert_eq!(page.status().await, said, "{hash}");
        assert_eq!(page.browser.text("return document.getElementById('status').className").await, "bad");
        assert_eq!(page.browser.run("return wrong").await, json!([]), "{hash}");
    }
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_seed_that_would_not_be_kept_is_refused() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "5"), ("load_ms", "10")]).await;
    page.browser.type_into("#seed", "9007199254740993").await;
    page.browser.click("#run").await;
    page.browser.until("return document.getElementById('status').className === 'bad'").await;
    let told = "seed must be a whole number from 0 to 9007199254740991; this is 9007199254740993";
    assert_eq!(page.status().await, told);
    assert_eq!(page.browser.text("return document.getElementById('seed-mistake').textContent").await, told);
    assert_eq!(page.asked().await, 0);
    page.browser.open(&page.link().await).await;
    assert_eq!(page.browser.text("return document.getElementById('seed').value").await, "9007199254740993");
    page.browser.type_into("#seed", "9007199254740991").await;
    let lines = page.race().await;
    assert_eq!(lines[0]["seed"], 9_007_199_254_740_991_u64);
    page.assert_quiet().await;
}
