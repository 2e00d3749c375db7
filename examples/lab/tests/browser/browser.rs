//! A browser, driven by the WebDriver protocol: the few commands of it that these tests need.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::started::said;

/// Whatever is waited for has come by then, on the busiest machine.
const LIMIT: Duration = Duration::from_secs(90);

/// Runs before the page's own scripts: keeps what goes wrong, and what the server sends for each race.
const WATCH: &str = r#"
    window.wrong = [];
    window.races = [];
    addEventListener("error", (event) => wrong.push(String(event.message)));
    addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
    addEventListener("securitypolicyviolation", (event) => wrong.push(`refused: ${event.violatedDirective}`));
    for (const kind of ["error", "warn"]) console[kind] = (...said) => wrong.push(said.join(" "));
    const ask = window.fetch;
    window.fetch = async (...question) => {
        const answer = await ask(...question);
        if (String(question[0]).endsWith("/api/race")) {
            const race = { ended: false, lines: "" };
            races.push(race);
            answer.clone().text().then((lines) => Object.assign(race, { lines, ended: true }), () => { race.ended = true; });
        }
        return answer;
    };
"#;

/// Chromium with one window. It ends with this.
pub(crate) struct Browser {
    driver: Child,
    address: String,
    session: String,
    client: Client,
    pub(crate) downloads: TempDir,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`chromedriver` can be run; `scripts/test --all` installs it");
        let port = said(&mut driver, "successfully on port ").expect("the driver says where it is");
        let address = format!("127.0.0.1:{}", port.trim_end_matches('.'));
        let downloads = tempfile::tempdir().expect("a folder can be made");
        let mut browser = Self { driver, address, session: String::new(), client: Client::new(), downloads };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            // What is to be clicked does not move any more.
            "--disable-smooth-scrolling",
        ];
        let wanted = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": { "args": arguments },
        });
        let session = browser.send("", json!({ "capabilities": { "alwaysMatch": wanted } })).await;
        browser.session = session["sessionId"].as_str().expect("a session has an id").to_owned();
        browser.tell("Page.enable", json!({})).await;
        browser.tell("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH })).await;
        let folder = browser.downloads.path().to_owned();
        browser
            .tell("Browser.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": folder }))
            .await;
        browser.size(1280, 900).await;
        browser
    }

    /// A command of the session, or the one that makes it.
    async fn send(&self, command: &str, body: Value) -> Value {
        let slash = if self.session.is_empty() { "" } else { "/" };
        let url = format!("http://{}/session{slash}{}{command}", self.address, self.session);
        let response = self.client.post(url).json(&body).send().await.expect("the driver answers");
        let mut answer: Value = response.json().await.expect("the driver answers in JSON");
        let value = answer["value"].take();
        assert!(value["error"].is_null(), "{command} {body}: {value}");
        value
    }

    /// A command of the DevTools.
    pub(crate) async fn tell(&self, command: &str, params: Value) -> Value {
        self.send("/goog/cdp/execute", json!({ "cmd": command, "params": params })).await
    }

    pub(crate) async fn size(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.tell("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// What the system is said to prefer: `("prefers-color-scheme", "dark")`.
    pub(crate) async fn prefers(&self, what: &str, value: &str) {
        let features = json!({ "features": [{ "name": what, "value": value }] });
        self.tell("Emulation.setEmulatedMedia", features).await;
    }

    pub(crate) async fn visit(&self, url: &str) {
        self.send("/url", json!({ "url": url })).await;
    }

    /// Opens a page and waits until its scripts are through.
    pub(crate) async fn open(&self, url: &str) {
        // From one hash to another a page is not loaded again.
        self.visit("about:blank").await;
        self.visit(url).await;
        self.until("return 'ready' in document.body.dataset").await;
    }

    /// What the body of a function gives, in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.run_with(script, json!([])).await
    }

    pub(crate) async fn run_with(&self, script: &str, arguments: Value) -> Value {
        self.send("/execute/sync", json!({ "script": script, "args": arguments })).await
    }

    pub(crate) async fn text(&self, script: &str) -> String {
        self.run(script).await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the body of a function gives `true`.
    pub(crate) async fn until(&self, script: &str) {
        let begun = Instant::now();
        while self.run(script).await != json!(true) {
            assert!(
                begun.elapsed() < LIMIT,
                "never came true: {script}; the page says {:?}",
                self.run("return document.getElementById('status')?.textContent").await
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn element(&self, css: &str) -> String {
        let found = self.send("/element", json!({ "using": "css selector", "value": css })).await;
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{css} is not on the page")).to_owned()
    }

    /// Clicks as a mouse does: what is hidden or covered cannot be clicked.
    pub(crate) async fn click(&self, css: &str) {
        let element = self.element(css).await;
        self.send(&format!("/element/{element}/click"), json!({})).await;
    }

    /// Types over what is in a field.
    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        let element = self.element(css).await;
        self.send(&format!("/element/{element}/clear"), json!({})).await;
        if !text.is_empty() {
            self.send(&format!("/element/{element}/value"), json!({ "text": text })).await;
        }
    }

    /// Gives a file to a field for files.
    pub(crate) async fn give(&self, css: &str, path: &std::path::Path) {
        let element = self.element(css).await;
        self.send(&format!("/element/{element}/value"), json!({ "text": path })).await;
    }

    /// Presses a key, whoever has the focus.
    pub(crate) async fn press(&self, key: &str) {
        let strokes = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let keyboard = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] });
        self.send("/actions", keyboard).await;
    }

    /// A part of the page as PNG, in base64.
    pub(crate) async fn picture(&self, part: Value) -> String {
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": part });
        let shot = self.tell("Page.captureScreenshot", wanted).await;
        shot["data"].as_str().expect("a picture is text").to_owned()
    }

    /// Everything that went wrong on the page since it was opened, and what the browser itself complains of.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let mut wrong: Vec<String> =
            serde_json::from_value(self.run("return wrong").await).expect("a list of texts");
        let log = self.send("/se/log", json!({ "type": "browser" })).await;
        wrong.extend(log.as_array().into_iter().flatten().map(Value::to_string));
        wrong
    }
}

impl Drop for Browser {
    /// Ends the session first: a driver that is killed leaves its browser behind.
    fn drop(&mut self) {
        if let Ok(mut driver) = TcpStream::connect(&self.address) {
            let _ = driver.set_read_timeout(Some(Duration::from_secs(10)));
            let request = format!(
                "DELETE /session/{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                self.session, self.address
            );
            let _ = driver.write_all(request.as_bytes());
            let _ = driver.read_to_end(&mut Vec::new());
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
