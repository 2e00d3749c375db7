//! The lab as a process, driven over HTTP.

use std::process::Child;
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use serde_json::Value;

use crate::started;

/// What waits for something that must come gives up after this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A lab of its own on a free port. It ends with this.
pub(crate) struct Lab {
    pub(crate) process: Child,
    pub(crate) address: String,
    client: Client,
}

impl Lab {
    /// Starts one with these arguments, and without what the environment may say.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let (process, address) = started::lab(arguments);
        Self { process, address, client: Client::new() }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(format!("http://{}{path}", self.address)).send().await.expect("the lab answers")
    }

    /// Asks for a race.
    pub(crate) async fn ask(&self, race: &Value) -> Response {
        let request = self.client.post(format!("http://{}/api/race", self.address)).json(race);
        request.send().await.expect("the lab answers")
    }

    /// How many races the lab says are running.
    pub(crate) async fn running(&self) -> u64 {
        let lab: Value = self.get("/api/lab").await.json().await.expect("it is JSON");
        lab["races"]["running"].as_u64().expect("a number")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until `look` sees it.
pub(crate) async fn until(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !look().await {
        assert!(Instant::now() < patience, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
