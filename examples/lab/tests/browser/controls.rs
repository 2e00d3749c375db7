//! The page's controls, as a visitor uses them.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::lab::Lab;

/// The lab in a browser.
pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) lab: Lab,
}

impl Page {
    pub(crate) async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// Of a lab that is started with these arguments.
    pub(crate) async fn open_with(arguments: &[&str]) -> Self {
        let (lab, browser) = (Lab::start(arguments), Browser::start().await);
        browser.open(&lab.url).await;
        Self { browser, lab }
    }

    /// Sets a field of a side (`a` or `b`), with mouse and keyboard.
    pub(crate) async fn set(&self, side: &str, field: &str, value: &str) {
        let css = format!("#{side}-{field}");
        let kind = "const field = document.querySelector(arguments[0]); return field.type";
        let kind = self.browser.run_with(kind, json!([css])).await;
        match kind.as_str() {
            Some("checkbox") => {
                let checked = "return String(document.querySelector(arguments[0]).checked)";
                if self.browser.run_with(checked, json!([css])).await != json!(value) {
                    self.browser.click(&css).await;
                }
            }
            Some("select-one") => self.browser.click(&format!("{css} option[value='{value}']")).await,
            _ => self.browser.type_into(&css, value).await,
        }
    }

    pub(crate) async fn set_all(&self, side: &str, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            self.set(side, field, value).await;
        }
    }

    /// How often a race was asked for since the page was opened.
    pub(crate) async fn asked(&self) -> u64 {
        self.browser.run("return races.length").await.as_u64().unwrap_or_default()
    }

    /// Waits until the race after so many others is over; gives its lines.
    pub(crate) async fn finished(&self, before: u64) -> Vec<Value> {
        let over = format!(
            "return races.length > {before} && races.at(-1).ended && document.getElementById('cancel').disabled"
        );
        self.browser.until(&over).await;
        let lines = self.browser.text("return races.at(-1).lines").await;
        lines.lines().map(|line| serde_json::from_str(line).expect("a line of a race is JSON")).collect()
    }

    /// Runs a race by its button.
    pub(crate) async fn race(&self) -> Vec<Value> {
        let before = self.asked().await;
        self.browser.click("#run").await;
        self.finished(before).await
    }

    /// The setting in the controls, as a link spells it.
    pub(crate) async fn link(&self) -> String {
        self.browser.text("return location.href").await
    }

    pub(crate) async fn status(&self) -> String {
        self.browser.text("return document.getElementById('status').textContent").await
    }

    pub(crate) async fn assert_quiet(&self) {
        let complaints = self.browser.complaints().await;
        assert!(complaints.is_empty(), "the console is not empty: {complaints:#?}");
    }
}

/// The last line of a side.
pub(crate) fn totals(lines: &[Value], side: usize) -> &Value {
    let of_side = |line: &&Value| line["kind"] == "totals" && line["side"] == side;
    lines.iter().find(of_side).unwrap_or_else(|| panic!("side {side} has no totals: {lines:#?}"))
}

/// How many callers of a side were answered so.
pub(crate) fn answered(lines: &[Value], side: usize, how: &str) -> u64 {
    totals(lines, side)["answers"][how].as_u64().unwrap_or_default()
}
