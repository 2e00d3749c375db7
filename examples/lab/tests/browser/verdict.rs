//! What is said of a race: the headings, the reasons and the result.

use serde_json::json;

use crate::controls::Page;

/// What is marked as better and named in the result, and whether what is named first differs most:
/// `[marked, named, first]`.
const NAMED: &str = r#"
    const rows = [...document.querySelectorAll(".readouts:not(.small) tbody tr")].filter((row) => row.querySelector(".best"));
    const times = (row) => {
        const [less, more] = [...row.querySelectorAll("td[data-value]")].map((cell) => Number(cell.dataset.value)).sort((a, b) => a - b);
        return more / Math.max(less, 1);
    };
    const weighed = rows.filter((row) => !row.querySelector("[data-readout='backend_commands']"));
    const most = Math.max(...weighed.map(times));
    const said = document.getElementById("status").lastElementChild.textContent;
    const label = (row) => row.querySelector("th").textContent.toLowerCase();
    const first = weighed.filter((row) => times(row) === most).some((row) => /^[AB] is better in /.test(said) && said.slice(15).startsWith(`${label(row)} (`));
    return [rows.map(label).sort(), [...said.matchAll(/(?:in|,|and) ([a-z0-9 ]+) \(/g)].map(([, name]) => name).sort(), first];
"#;

const HEADINGS: &str = "return [...document.querySelectorAll('.heading')].map((text) => text.textContent)";

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_result_names_all_that_differs_and_what_differs_most_first() {
    let page = Page::open().await;
    for lesson in ["spawn", "losers-stale-wait", "herd"] {
        let before = page.asked().await;
        page.browser.click(&format!("[data-preset='{lesson}']")).await;
        page.finished(before).await;
        let named = page.browser.run(NAMED).await;
        assert_eq!(named[0], named[1], "{lesson}: {}", page.status().await);
        assert_eq!(named[2], true, "{lesson}: {}", page.status().await);
    }
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn a_side_without_a_figure_is_not_called_about_the_same() {
    let page = Page::open().await;
    page.browser.click("#compare").await;
    for (side, losers) in [("a", "stale"), ("b", "wait")] {
        let stale = [("callers", "40"), ("entry", "stale"), ("ttl_ms", "60000"), ("losers", losers)];
        page.set_all(side, &stale).await;
    }
    page.race().await;
    let why = "return document.querySelector(\"[data-readout='staleness_ms.max']\").closest('tr').querySelector('.why').textContent";
    assert_eq!(page.browser.text(why).await, "B has no stale copy");
    page.assert_quiet().await;
}

#[tokio::test]
#[ignore = "needs Chromium and its driver"]
async fn headings_name_the_fields_in_which_the_sides_differ() {
    let page = Page::open().await;
    page.set_all("a", &[("callers", "20"), ("load_ms", "60")]).await;
    page.race().await;
    assert_eq!(
        page.browser.run(HEADINGS).await,
        json!(["20 callers · load 60 ms · losers stale · backend memory"])
    );
    page.browser.click("#compare").await;
    page.set_all("b", &[("spawn", "true"), ("wait_ms", "900"), ("load_spread", "10")]).await;
    page.race().await;
    assert_eq!(
        page.browser.run(HEADINGS).await,
        json!([
            "A  20 callers · load 60 ms · spread 0 % · no spawn · wait budget long enough",
            "B  20 callers · load 60 ms · spread 10 % · spawn · wait budget 900 ms",
        ])
    );
    page.assert_quiet().await;
}
