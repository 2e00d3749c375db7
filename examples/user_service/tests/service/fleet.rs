//! Two instances of the service, the server and the database that they share.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use singleflight_tests::server::Server;
use tempfile::TempDir;

/// What waits for something that must come gives up after this.
const PATIENCE: Duration = Duration::from_secs(60);

/// The service as a process, which ends with this.
pub(crate) struct Instance {
    process: Child,
    url: String,
    client: Client,
}

impl Instance {
    /// Starts one on a free port, with these variables and none that the test happens to run with.
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        let mut process =
            command(variables).stdout(Stdio::piped()).spawn().expect("the service can be started");
        let stdout = process.stdout.take().expect("it has an output");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("its output can be read");
        let url = line.trim().strip_prefix("listening on ").expect("it says where it listens").to_owned();
        Self { process, url, client: Client::new() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(self.url(path)).send().await.expect("the service answers")
    }

    pub(crate) async fn text(&self, path: &str) -> String {
        self.get(path).await.text().await.expect("it is text")
    }

    pub(crate) async fn send(&self, method: reqwest::Method, path: &str, body: &Value) -> Response {
        let request = self.client.request(method, self.url(path)).json(body);
        request.send().await.expect("the service answers")
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.send(reqwest::Method::POST, path, body).await
    }

    /// Makes a user; gives its number.
    pub(crate) async fn user(&self, name: &str) -> i64 {
        let new = json!({ "name": name, "email": format!("{name}@example.org") });
        let response = self.post("/users", &new).await;
        assert_eq!(response.status(), StatusCode::CREATED);
        let user: Value = response.json().await.expect("it is JSON");
        user["id"].as_i64().expect("it has a number")
    }

    /// The sum of a figure over all its labels that contain `of`.
    pub(crate) async fn figure(&self, name: &str, of: &str) -> f64 {
        let figures = self.text("/metrics").await;
        let lines = figures.lines().filter(|line| line.starts_with(name) && line.contains(of));
        lines.map(|line| line.rsplit(' ').next().and_then(|n| n.parse::<f64>().ok()).expect("a number")).sum()
    }

    /// Asks it to stop, as whoever runs it would.
    pub(crate) fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        assert!(status.expect("`kill` can be run").success());
    }

    /// How it ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.process.wait().expect("it can be waited for")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts it where it must refuse to; gives what it says.
pub(crate) fn refused(variables: &[(&str, &str)]) -> String {
    let mut process = command(variables).stderr(Stdio::piped()).spawn().expect("the service can be started");
    let stderr: ChildStderr = process.stderr.take().expect("it has an output for errors");
    let said = std::io::read_to_string(stderr).expect("it says why");
    assert!(!process.wait().expect("it ends").success(), "it started, and said {said}");
    said
}

fn command(variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_user-service"));
    for name in ["SINGLEFLIGHT_BACKEND", "SINGLEFLIGHT_NAMESPACE", "NEAR", "QUERY_DELAY_MS", "SHUTDOWN_S"] {
        command.env_remove(name);
    }
    command.env("LISTEN", "127.0.0.1:0").env("RUST_LOG", "warn").envs(variables.iter().copied());
    command
}

/// Two instances, and what they share.
pub(crate) struct Fleet {
    pub(crate) a: Instance,
    pub(crate) b: Instance,
    pub(crate) redis: Server,
    _dir: TempDir,
}

impl Fleet {
    /// Two of them on a database file and a server, with these variables beside.
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        Self::start_each([variables, variables])
    }

    /// The same, each with variables of its own.
    pub(crate) fn start_each(variables: [&[(&str, &str)]; 2]) -> Self {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let database = format!("sqlite://{}/users.db?mode=rwc", dir.path().display());
        Self::on(&database, dir, variables)
    }

    /// The same on another database.
    pub(crate) fn on(database: &str, dir: TempDir, variables: [&[(&str, &str)]; 2]) -> Self {
        let redis = Server::start();
        // What is counted are queries, and a busy machine is not to add some.
        let url = format!("{}?response_timeout_ms=5000&dial_timeout_ms=5000", redis.url());
        let shared =
            [("DATABASE_URL", database), ("SINGLEFLIGHT_BACKEND", &url), ("SINGLEFLIGHT_NAMESPACE", "users")];
        let [a, b] = variables.map(|variables| Instance::start(&[&shared[..], variables].concat()));
        Self { a, b, redis, _dir: dir }
    }

    /// How often the body of a function has run, in both.
    pub(crate) async fn fills(&self, function: &str) -> f64 {
        let of = format!("function=\"user_service::users::{function}\"");
        self.a.figure("singleflight_fills_total", &of).await
            + self.b.figure("singleflight_fills_total", &of).await
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

/// A server on a port that is free, and that port, when `is_ready` says so. Another program may take it first: then the
/// server ends, and there are others.
pub(crate) async fn on_free_port(
    what: &str,
    start: impl Fn(u16) -> Child,
    is_ready: impl AsyncFn(u16) -> bool,
) -> (Child, u16) {
    for _ in 0..10 {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("there is a free port").port();
        let mut process = start(port);
        let patience = Instant::now() + PATIENCE;
        while process.try_wait().expect("it can be waited for").is_none() {
            if is_ready(port).await {
                return (process, port);
            }
            if Instant::now() > patience {
                let _ = process.kill();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(Instant::now() < patience, "{what} did not come");
    }
    panic!("{what} ended by itself")
}
