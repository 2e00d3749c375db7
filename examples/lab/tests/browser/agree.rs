//! Whether what is shown is what was sent, and what was sent is what the engine counted.

use serde_json::Value;

use crate::controls::{Page, answered, totals};

/// Every read-out, statistic and answer on the page: `[kind, name, side, exact value, text]`.
const SHOWN: &str = r#"
    const of = (kind) => [...document.querySelectorAll(`[data-${kind}]`)].map((cell) =>
        [kind, cell.dataset[kind], cell.dataset.side, cell.dataset.value ?? "", cell.textContent]);
    return [...of("readout"), ...of("stat"), ...of("answers")];
"#;

/// The value that a read-out is to show.
fn sent<'a>(totals: &'a Value, kind: &str, name: &str) -> Option<&'a Value> {
    match (kind, name) {
        ("stat", _) => totals["stats"].get(name),
        ("answers", _) | ("readout", "failed" | "dropped") => totals["answers"].get(name),
        _ => name.split('.').try_fold(totals, |value, part| value.get(part)),
    }
}

/// A text such as `1,234 ✓ better`, `1.32 s` or `A200` as a number; times in milliseconds.
fn read(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let plain = text.replace(',', "");
    let number: String = plain.chars().skip_while(|c| !digits(*c)).take_while(|c| digits(*c)).collect();
    let seconds = plain.contains(" s");
    Some(number.parse::<f64>().ok()? * if seconds { 1000.0 } else { 1.0 })
}

/// Compares all that the page shows of a race with the race's last lines.
pub(crate) async fn assert_agrees(page: &Page, lines: &[Value]) {
    let shown = page.browser.run(SHOWN).await;
    let shown: Vec<[String; 5]> = serde_json::from_value(shown).expect("five texts each");
    assert!(
        shown.iter().filter(|[kind, ..]| kind == "readout").count() >= 14,
        "read-outs are missing: {shown:?}"
    );
    for [kind, name, side, exact, text] in &shown {
        let side = side.parse().expect("a side is a number");
        let sent = sent(totals(lines, side), kind, name).and_then(Value::as_f64);
        let told = format!("{kind} {name} of side {side}: `{text}` for {sent:?}");
        match (sent, kind.as_str()) {
            // No caller was answered so.
            (None, "answers") => assert_eq!(read(text), Some(0.0), "{told}"),
            (None, _) if name == "failed" || name == "dropped" => assert_eq!(read(text), Some(0.0), "{told}"),
            (None, _) => assert_eq!(read(text), None, "{told}"),
            (Some(sent), _) => {
                let read = read(text).unwrap_or_else(|| panic!("{told}"));
                // Times are rounded to what fits.
                let rounded = if name.contains("_ms") { f64::max(0.51, sent * 0.01) } else { 0.0 };
                assert!((read - sent).abs() <= rounded, "{told}");
                if kind == "readout" && name != "failed" && name != "dropped" {
                    // Not every reader of JSON gets the last digit right.
                    let exact = exact.parse::<f64>().unwrap_or(f64::NAN);
                    assert!((exact - sent).abs() <= sent * 1e-12, "{told}, {exact}");
                }
            }
        }
    }
    let statistics = totals(lines, 0)["stats"].as_object().expect("statistics are an object");
    let stats = shown.iter().filter(|[kind, _, side, ..]| kind == "stat" && side == "0").count();
    assert_eq!(stats, statistics.len(), "each statistic is shown");
}

/// Compares what the lab saw with what the engine counted, for a side that nobody was killed on.
pub(crate) fn assert_counted(lines: &[Value], side: usize) {
    let totals = totals(lines, side);
    if totals["stats_lost"] != 0 {
        return;
    }
    let [of, stats] = [totals, &totals["stats"]].map(|figures| {
        move |name: &str| figures[name].as_u64().unwrap_or_else(|| panic!("no {name} in {figures}"))
    });
    let told = format!("side {side}: {totals:#}");
    let begin = |line: &&Value| line["kind"] == "begin" && line["side"] == side;
    if lines.iter().find(begin).is_some_and(|line| line["setting"]["backend"] == "none") {
        let counted = totals["stats"].as_object().into_iter().flatten().find(|(_, n)| **n != 0);
        assert_eq!(counted, None, "no engine is asked; {told}");
        return;
    }
    assert_eq!(stats("fills"), of("source_reads") - of("dropped_loads"), "loads that ended; {told}");
    assert_eq!(stats("stale"), of("stale_answers"), "{told}");
    assert_eq!(stats("hits"), answered(lines, side, "hit"), "{told}");
    assert_eq!(stats("defaults"), answered(lines, side, "default"), "{told}");
}
