//! A race, as it was told.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::lab::Lab;

/// All lines of a race.
pub(crate) struct Race(pub(crate) Vec<Value>);

impl Race {
    /// Runs one to its end, and holds its accounts to what the engines say.
    pub(crate) async fn run(lab: &Lab, sides: &[Value]) -> Self {
        let race = Self::seeded(lab, 1, sides).await;
        for side in 0..sides.len() {
            race.assert_agrees(side);
        }
        race
    }

    pub(crate) async fn seeded(lab: &Lab, seed: u64, sides: &[Value]) -> Self {
        let response = lab.ask(&json!({ "seed": seed, "sides": sides })).await;
        assert_eq!(response.status(), StatusCode::OK);
        let text = response.text().await.expect("it is told to its end");
        let race = Self(text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect());
        assert_eq!(race.0.last().expect("a line")["kind"], "end");
        race
    }

    /// The lines of this kind, of one side.
    pub(crate) fn lines(&self, side: usize, kind: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |line| line["side"] == side && line["kind"] == kind)
    }

    /// The lines of a kind that say `what`.
    pub(crate) fn what(&self, side: usize, kind: &str, what: &str) -> Vec<&Value> {
        self.lines(side, kind).filter(|line| line["what"] == what).collect()
    }

    pub(crate) fn totals(&self, side: usize) -> &Value {
        self.lines(side, "totals").last().expect("a side that ended")
    }

    /// A number of the totals.
    pub(crate) fn total(&self, side: usize, name: &str) -> u64 {
        self.totals(side)[name].as_u64().unwrap_or_else(|| panic!("no {name} in {}", self.totals(side)))
    }

    /// A number of the engines' statistics.
    pub(crate) fn stat(&self, side: usize, name: &str) -> u64 {
        self.totals(side)["stats"][name].as_u64().unwrap_or_else(|| panic!("no {name}"))
    }

    /// How many callers were answered so.
    pub(crate) fn answered(&self, side: usize, how: &str) -> u64 {
        self.totals(side)["answers"][how].as_u64().unwrap_or_default()
    }

    /// The accounts agree with each other, and with the statistics of the engines.
    fn assert_agrees(&self, side: usize) {
        let setting = &self.lines(side, "begin").next().expect("a side that began")["setting"];
        let said = self.totals(side).to_string();
        let answers = self.totals(side)["answers"].as_object().expect("an object");
        let sum: u64 = answers.values().filter_map(Value::as_u64).sum();
        assert_eq!(sum, setting["callers"].as_u64().expect("a number"), "{said}");
        assert_eq!(sum as usize, self.lines(side, "answer").count(), "{said}");
        assert_eq!(self.total(side, "source_reads") as usize, self.lines(side, "load").count(), "{said}");
        assert_eq!(self.lines(side, "load").count(), self.lines(side, "load_end").count(), "{said}");
        // The no-op backend leaves nothing to be counted, and a killed process nobody who could say what it counted.
        if setting["backend"] == "none" || self.answered(side, "dropped") > 0 {
            return;
        }
        let (stat, answered) = (|name| self.stat(side, name), |how| self.answered(side, how));
        assert_eq!(stat("hits"), answered("hit"), "{said}");
        assert_eq!(stat("follows"), answered("followed") + answered("waited"), "{said}");
        assert_eq!(stat("follows"), self.total(side, "coalesced"), "{said}");
        assert_eq!(stat("defaults"), answered("default"), "{said}");
        assert_eq!(stat("fills") + stat("panics"), self.total(side, "source_reads"), "{said}");
        assert_eq!(stat("stale"), answered("stale"), "{said}");
        // Whose refresh fails has the copy all the same.
        let failures = stat("refusals") + stat("failures_shared") + stat("cooldown_answers") + stat("errors");
        let saved = failures - answered("failed");
        assert!(saved <= stat("errors"), "{said}");
        // A load that is a task of its own may be nobody's answer.
        if setting["spawn"] == false {
            assert_eq!(stat("fills") - stat("errors"), answered("loaded") + answered("degraded"), "{said}");
        }
    }
}
