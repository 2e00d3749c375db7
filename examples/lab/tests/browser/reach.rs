//! Whether all of it can be used by keyboard, and by those who do not see it.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::controls::Page;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const END: &str = "\u{e010}";
const HOME: &str = "\u{e011}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";

/// What has the focus, and whether that is seen: an outline around it or around its label.
const FOCUS: &str = r#"
    const at = document.activeElement;
    if (at === document.body) return ["", true];
    const seen = [at, at.nextElementSibling].some((element) => element && getComputedStyle(element).outlineStyle !== "none" && parseFloat(getComputedStyle(element).outlineWidth) >= 2);
    return [at.id || at.dataset.preset || at.name || at.getAttribute("href") || at.tagName, seen];
"#;

async fn focused(browser: &Browser) -> String {
    browser.run(FOCUS).await[0].as_str().unwrap_or_default().to_owned()
}

/// Goes on by tab until something has the focus; fails when that never happens.
async fn tab_to(browser: &Browser, id: &str) {
    for _ in 0..150 {
        if focused(browser).await == id {
            return;
        }
        browser.press(TAB).await;
    }
    panic!("the keyboard does not get to {id}");
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn everything_is_reached_by_tab_and_the_focus_is_seen() {
    let page = Page::open().await;
    page.browser.click("#compare").await;
    page.set("a", "callers", "20").await;
    page.race().await;
    page.browser.run("document.activeElement.blur(); scrollTo(0, 0)").await;
    page.browser.open(&page.link().await).await;
    page.race().await;
    page.browser.run("document.activeElement.blur(); getSelection().collapse(document.body, 0)").await;
    let wanted = page.browser.run(r#"
        return [...document.querySelectorAll("button, input, select, summary, [tabindex='0']")]
            .filter((element) => !element.disabled && element.checkVisibility({ visibilityProperty: true }) && element.type !== "radio")
            .map((element) => element.id || element.dataset.preset || element.tagName)"#).await;
    let mut wanted: Vec<String> = serde_json::from_value(wanted).expect("a list of texts");
    assert!(wanted.len() > 40, "{wanted:?}");
    for _ in 0..200 {
        page.browser.press(TAB).await;
        let focus = page.browser.run(FOCUS).await;
        assert_eq!(focus[1], true, "the focus on {} is not seen", focus[0]);
        wanted.retain(|id| json!(id) != focus[0]);
        if wanted.is_empty() {
            return;
        }
    }
    panic!("the keyboard does not get to {wanted:?}");
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_race_is_set_run_and_replayed_by_keyboard() {
    let page = Page::open().await;
    let browser = &page.browser;
    tab_to(browser, "a-callers").await;
    browser.press("\u{e003}").await; // back space: tabbing into a field selects what is in it
    for digit in ["2", "5"] {
        browser.press(digit).await;
    }
    let before = page.asked().await;
    browser.press(ENTER).await;
    let lines = page.finished(before).await;
    assert_eq!(lines[0]["setting"]["callers"], 25);

    tab_to(browser, "figure").await;
    let time = "return document.getElementById('replay-time').textContent";
    browser.press(HOME).await;
    assert_eq!(browser.text(time).await, "0.0 ms");
    browser.press(RIGHT).await;
    let first = browser.text(time).await;
    assert_ne!(first, "0.0 ms");
    assert_ne!(
        browser.text("return document.getElementById('now').textContent").await,
        "",
        "what happened then is told"
    );
    assert_eq!(
        browser.text("return document.getElementById('now').getAttribute('aria-live')").await,
        "polite"
    );
    browser.press(RIGHT).await;
    assert_ne!(browser.text(time).await, first);
    browser.press(LEFT).await;
    assert_eq!(browser.text(time).await, first);
    browser.press(" ").await;
    assert_eq!(browser.text("return document.getElementById('replay-play').textContent").await, "Pause");
    browser.press(" ").await;
    assert_eq!(browser.text("return document.getElementById('replay-play').textContent").await, "Replay");
    browser.press(END).await;
    assert_eq!(browser.run("return document.querySelector('.cursor').classList.contains('off')").await, true);
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn everything_has_a_name_and_results_are_told() {
    let page = Page::open().await;
    let alone = "return document.getElementById('a-callers').ariaLabel";
    assert_eq!(page.browser.text(alone).await, "Callers");
    page.browser.click("#compare").await;
    page.set("a", "callers", "20").await;
    page.race().await;
    page.browser.tell("Accessibility.enable", json!({})).await;
    let tree = page.browser.tell("Accessibility.getFullAXTree", json!({})).await;
    let nodes = tree["nodes"].as_array().expect("a tree has nodes");
    let role = |node: &Value| node["role"]["value"].as_str().unwrap_or_default().to_owned();
    let name = |node: &Value| node["name"]["value"].as_str().unwrap_or_default().trim().to_owned();
    let used =
        ["button", "textbox", "combobox", "checkbox", "switch", "radio", "slider", "image", "group", "table"];
    let controls: Vec<_> =
        nodes.iter().filter(|node| node["ignored"] != true && used.contains(&role(node).as_str())).collect();
    assert!(controls.len() > 50, "{} controls", controls.len());
    for node in &controls {
        let (role, name) = (role(node), name(node));
        // Groups within rows, and pictures beside words that say the same, need none.
        assert!(!name.is_empty() || role == "group" || role == "table", "a {role} has no name: {node:#}");
    }
    let names: Vec<_> = controls.iter().map(|node| name(node)).collect();
    let wanted = [
        "Callers, side A",
        "Callers, side B",
        "Lease TTL in milliseconds, side A",
        "Run",
        "Cancel",
        "Replay",
    ];
    for wanted in wanted {
        assert!(names.iter().any(|name| name == wanted), "no {wanted} among {names:?}");
    }
    let live = "const status = document.getElementById('status'); return [status.getAttribute('aria-live'), status.textContent.includes('source read')]";
    assert_eq!(page.browser.run(live).await, json!(["polite", true]));
}
