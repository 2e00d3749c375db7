//! Whether it can be read: contrast in both themes, and no need to scroll sideways on a phone.

use serde_json::{Value, json};

use crate::controls::Page;

/// All text that is seen and does not stand out enough from what is behind it, and all marks: 4.5 to 1 for text, 3 to 1
/// for large text and marks.
const FAINT: &str = r#"
    const parse = (colour) => {
        const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
        return colour.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255, 1]);
    };
    const light = (colour) => {
        const [r, g, b] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, two) => {
        const [high, low] = [light(one), light(two)].sort((a, b) => b - a);
        return (high + 0.05) / (low + 0.05);
    };
    const faint = [];
    let looked = 0;
    const look = (element, colour, least, words) => {
        const ground = behind(element);
        const found = contrast(over(parse(colour), ground), ground);
        looked += 1;
        if (found < least) faint.push(`${words}: ${found.toFixed(2)} of ${least}`);
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const words = texts.currentNode.textContent.trim();
        if (words === "" || !element.checkVisibility({ visibilityProperty: true }) || element.closest("title, :disabled, .hidden, .skip")) continue;
        const style = getComputedStyle(element);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        look(element, element instanceof SVGElement ? style.fill : style.color, large ? 3 : 4.5, words);
    }
    for (const mark of document.querySelectorAll(".mark, .end, .flag")) {
        look(mark, getComputedStyle(mark).color, 3, `mark ${mark.getAttribute("class")} in ${mark.parentElement.getAttribute("class")}`);
    }
    return [looked, faint];
"#;

async fn assert_stands_out(page: &Page, told: &str) {
    let looked = page.browser.run(FAINT).await;
    assert!(looked[0].as_u64().unwrap_or_default() > 100, "{told}: what is looked at? {looked}");
    assert_eq!(looked[1], json!([]), "{told}");
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn text_and_marks_stand_out_in_both_themes() {
    let page = Page::open().await;
    page.browser.click("#compare").await;
    page.set_all("a", &[("callers", "60"), ("entry", "stale"), ("arrivals_ms", "200")]).await;
    page.set_all("b", &[("callers", "60"), ("losers", "default"), ("fault", "failing_load")]).await;
    page.race().await;
    page.set("a", "keys", "99").await;
    for (system, choice) in [("light", "system"), ("dark", "system"), ("light", "dark"), ("dark", "light")] {
        page.browser.prefers("prefers-color-scheme", system).await;
        page.browser
            .run_with("document.querySelector(`#theme [value=${arguments[0]}]`).click()", json!([choice]))
            .await;
        assert_stands_out(&page, &format!("the system is {system}, the page {choice}")).await;
        let ground = page.browser.text("return getComputedStyle(document.body).backgroundColor").await;
        let dark = choice == "dark" || (choice == "system" && system == "dark");
        assert_eq!(ground != "rgb(255, 255, 255)", dark, "{system}, {choice}: {ground}");
    }
    page.browser.click("#run").await;
    page.browser.until("return document.querySelectorAll('[aria-invalid]').length > 0").await;
    assert_stands_out(&page, "a mistake").await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn nothing_scrolls_sideways_on_a_phone() {
    let page = Page::open().await;
    page.browser.click("#compare").await;
    // Its fault is told in a long sentence.
    page.set_all("a", &[("processes", "8"), ("backend", "shared"), ("fault", "no_recheck")]).await;
    page.set_all("b", &[("keys", "16"), ("arrivals_ms", "300"), ("fault", "failing_load")]).await;
    let lines = page.race().await;
    for width in [320, 360, 390, 768, 1024, 1920] {
        page.browser.size(width, 800).await;
        let drawn = format!("return document.querySelector('.timeline').clientWidth <= {width}");
        page.browser.until(&drawn).await;
        let wide = page
            .browser
            .run("const page = document.scrollingElement; return [page.scrollWidth, page.clientWidth]")
            .await;
        assert_eq!(wide[0], wide[1], "at {width} pixels");
        // What is cut off can be scrolled to, or is meant to be: the timeline fits by itself.
        let cut = "return [...document.querySelectorAll('.timeline text')].filter((text) => { \
                   const box = text.getBoundingClientRect(); const all = text.ownerSVGElement.getBoundingClientRect(); \
                   return box.right > all.right + 1 || box.left < all.left - 1; }).map((text) => text.textContent)";
        assert_eq!(page.browser.run(cut).await, json!([]), "words are cut off at {width} pixels");
        // What is left out can be read elsewhere.
        let titles = page.browser.text("return [...document.querySelectorAll('.fault title')].map((title) => title.textContent).join()").await;
        let list = page.browser.text("return document.getElementById('story').textContent").await;
        for fault in lines.iter().filter(|line| line["kind"] == "fault") {
            let what = fault["what"].as_str().expect("a fault is a sentence");
            assert!(titles.contains(what) && list.contains(what), "{what} is not in {titles} and {list}");
        }
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_replay_moves_in_steps_where_motion_is_not_wanted() {
    let page = Page::open().await;
    page.set("a", "callers", "20").await;
    page.race().await;
    page.browser.prefers("prefers-reduced-motion", "reduce").await;
    let watched = "window.times = []; new MutationObserver(() => times.push(document.getElementById('replay-time').textContent)) \
                   .observe(document.getElementById('replay-time'), { childList: true });";
    page.browser.run(watched).await;
    page.browser.click("#replay-play").await;
    page.browser.until("return document.getElementById('replay-play').textContent === 'Replay'").await;
    let times: Vec<Value> = serde_json::from_value(page.browser.run("return times").await).expect("a list");
    assert!((2..20).contains(&times.len()), "from one moment to the next: {times:?}");
}
