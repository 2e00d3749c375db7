//! A real Prometheus, and the dashboard's questions put to it.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;

use crate::fleet::{Fleet, on_free_port, until};

const DASHBOARD: &str = include_str!("../../deploy/dashboard.json");
/// Where the names of the figures are documented.
const NAMES: &str = include_str!("../../../../singleflight-core/src/metrics.rs");

/// A Prometheus that scrapes some addresses each second. It ends with this.
struct Prometheus {
    process: Child,
    url: String,
    client: Client,
    _dir: TempDir,
}

impl Prometheus {
    async fn start(targets: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let targets =
            targets.iter().map(|url| url.trim_start_matches("http://")).collect::<Vec<_>>().join(", ");
        let settings = format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: user-service\n    \
             static_configs: [{{ targets: [{targets}] }}]\n"
        );
        let config = dir.path().join("prometheus.yml");
        std::fs::write(&config, settings).expect("the folder can be written to");
        let start = |port: u16| {
            Command::new("prometheus")
                .arg(format!("--config.file={}", config.display()))
                .arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()))
                .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("`prometheus` can be run; `scripts/test --all` installs it")
        };
        let client = Client::new();
        let is_ready = async |port: u16| {
            let ready = client.get(format!("http://127.0.0.1:{port}/-/ready")).send().await;
            ready.is_ok_and(|answer| answer.status().is_success())
        };
        let (process, port) = on_free_port("Prometheus", start, is_ready).await;
        Self { process, url: format!("http://127.0.0.1:{port}"), client, _dir: dir }
    }

    /// The series that a question gives, none while there is no answer yet.
    async fn ask(&self, question: &str) -> Vec<Value> {
        let request = self.client.get(format!("{}/api/v1/query", self.url)).query(&[("query", question)]);
        let Ok(response) = request.send().await else { return Vec::new() };
        let Ok(mut answer) = response.json::<Value>().await else { return Vec::new() };
        assert_eq!(answer["status"], "success", "{question}: {answer}");
        match answer["data"]["result"].take() {
            Value::Array(series) => series,
            other => panic!("{question}: {other}"),
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// All questions of the dashboard, as Grafana would put them for all functions.
fn questions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let questions = targets.map(|target| target["expr"].as_str().expect("a target is a question"));
    questions.map(|text| text.replace("$__rate_interval", "1m").replace("$function", ".*")).collect()
}

/// The names that begin with `singleflight_` in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("singleflight_"));
    names.map(|name| name.trim_end_matches("_bucket").trim_end_matches("_count")).collect()
}

#[test]
fn the_dashboard_shows_every_figure_and_no_other() {
    let documented: String = NAMES.lines().filter(|line| line.starts_with("//! | `")).collect();
    let questions = questions().join("\n");
    assert_eq!(names(&questions), names(&documented));
}

#[tokio::test]
#[ignore = "needs `prometheus`, which `scripts/test --all` installs"]
async fn a_real_prometheus_has_an_answer_to_every_question_of_the_dashboard() {
    let fleet = Fleet::start(&[("NEAR", "1000")]);
    let prometheus = Prometheus::start(&[&fleet.a.url(""), &fleet.b.url("")]).await;
    until("both instances", async || {
        let up = prometheus.ask("sum (up)").await;
        up.first().is_some_and(|up| up["value"][1] == "2")
    })
    .await;

    let path = format!("/users/{}", fleet.a.user("ada").await);
    // The newest are stale after two seconds: some answer will be.
    until("a stale answer", async || {
        for instance in [&fleet.a, &fleet.b] {
            assert!(instance.get(&path).await.status().is_success());
            assert!(instance.get("/users").await.status().is_success());
        }
        fleet.a.figure("singleflight_stale_age_seconds_count", "").await > 0.0
    })
    .await;

    for question in questions() {
        until(&question, async || !prometheus.ask(&question).await.is_empty()).await;
    }
    let loads = "sum by (instance) (singleflight_fills_total{outcome=\"value\"})";
    until("the loads of both", async || prometheus.ask(loads).await.len() == 2).await;
}
