//! Several real processes on one server: the test's own binary, started again as workers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use singleflight_core::{FlightError, LeaseBackend, SingleFlight};
use tokio::time::sleep;

use crate::rig::{MINUTE, PATIENCE, bytes, connect, patient, soon};
use crate::server::Server;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_millis(1500);
const CALLERS: usize = 10;

/// What the loads read: counts them, knows who reads, and says how long a load is to take.
struct Origin {
    port: u16,
    reads: Arc<Mutex<Vec<(u32, Instant)>>>,
}

impl Origin {
    /// The first load takes `first`, later ones 50 ms.
    fn start(first: Duration) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let reads = Arc::new(Mutex::new(Vec::new()));
        let ours = reads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut process = [0; 4];
                stream.read_exact(&mut process).unwrap();
                let mut reads = ours.lock().unwrap();
                reads.push((u32::from_be_bytes(process), Instant::now()));
                let took = if reads.len() == 1 { first } else { 50 * MS };
                stream.write_all(&(reads.len() as u32).to_be_bytes()).unwrap();
                stream.write_all(&(took.as_millis() as u32).to_be_bytes()).unwrap();
            }
        });
        Self { port, reads }
    }

    fn reads(&self) -> Vec<(u32, Instant)> {
        self.reads.lock().unwrap().clone()
    }
}

/// One read of the origin, in a worker: its number.
async fn load(port: u16) -> Result<u32, FlightError> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(&std::process::id().to_be_bytes()).unwrap();
    let mut word = || {
        let mut word = [0; 4];
        stream.read_exact(&mut word).unwrap();
        u32::from_be_bytes(word)
    };
    let (number, took) = (word(), word());
    sleep(took * MS).await;
    Ok(number)
}

/// What a worker does: connects, says so, waits for its start, and says what each of its callers got. Nothing when run
/// by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(url) = std::env::var("SINGLEFLIGHT_TEST_SERVER") else { return };
    let port: u16 = std::env::var("SINGLEFLIGHT_TEST_ORIGIN").unwrap().parse().unwrap();
    let backend = patient(&url).connect().await.unwrap();
    let flights = SingleFlight::builder().backend(Arc::new(backend)).namespace("test").jitter(false).build();
    println!("\nworker: ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let calls: Vec<_> = (0..CALLERS)
        .map(|_| {
            let flights = flights.clone();
            tokio::spawn(async move {
                flights.flight("k").ttl(MINUTE).lock_ttl(LEASE).run(|| load(port)).await.unwrap()
            })
        })
        .collect();
    for call in calls {
        println!("\nworker: got {}", call.await.unwrap());
    }
    println!("\nworker: left {}", flights.in_progress());
}

struct Worker {
    process: Child,
    start: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

impl Worker {
    fn spawn(server: &Server, origin: &Origin) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "processes::worker", "--nocapture"]);
        process.env("SINGLEFLIGHT_TEST_SERVER", server.url());
        process.env("SINGLEFLIGHT_TEST_ORIGIN", origin.port.to_string());
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = process.spawn().unwrap();
        let says = BufReader::new(process.stdout.take().unwrap());
        Self { start: process.stdin.take(), says, process }
    }

    /// The next thing it says; `None` at its end.
    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.says.read_line(&mut line).unwrap() > 0 {
            if let Some((_, said)) = line.split_once("worker: ") {
                return Some(said.trim().to_owned());
            }
            line.clear();
        }
        None
    }

    fn go(&mut self) {
        self.start.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// What its callers got.
    fn answers(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn fleet(server: &Server, origin: &Origin, processes: usize) -> Vec<Worker> {
    let mut fleet: Vec<Worker> = (0..processes).map(|_| Worker::spawn(server, origin)).collect();
    for worker in &mut fleet {
        assert_eq!(worker.next().as_deref(), Some("ready"));
    }
    for worker in &mut fleet {
        worker.go();
    }
    fleet
}

fn all_got(number: usize) -> Vec<String> {
    let mut said = vec![format!("got {number}"); CALLERS];
    said.push("left 0".to_owned());
    said
}

#[tokio::test]
async fn p14_four_processes_of_ten_callers_are_one_load() {
    let (server, origin) = (Server::start(), Origin::start(10 * LEASE / 4));
    for worker in &mut fleet(&server, &origin, 4) {
        assert_eq!(worker.answers(), all_got(1));
    }
    assert_eq!(origin.reads().len(), 1, "although the load took more than two lease TTLs");
    server.assert_every_key_ends();
}

#[tokio::test]
async fn p11_a_killed_leader_has_one_successor_in_the_fleet() {
    let (server, origin) = (Server::start(), Origin::start(MINUTE));
    let mut fleet = fleet(&server, &origin, 5);
    soon("the load begins", async || !origin.reads().is_empty()).await;
    // So that all wait, and the lease has been renewed.
    sleep(LEASE).await;
    let leader = origin.reads()[0].0;
    let at = fleet.iter().position(|worker| worker.process.id() == leader).unwrap();
    drop(fleet.swap_remove(at));
    let killed = Instant::now();
    for worker in &mut fleet {
        assert_eq!(worker.answers(), all_got(2));
    }
    let reads = origin.reads();
    assert_eq!(reads.len(), 2, "exactly one load more");
    let late = reads[1].1.duration_since(killed);
    println!("the next load began {late:?} after the kill, with a lease of {LEASE:?}");
    assert!(late < LEASE + PATIENCE, "{late:?}");
    server.assert_every_key_ends();
}

#[tokio::test]
async fn p13_a_leader_paused_past_its_lease_stores_nothing() {
    let (server, origin) = (Server::start(), Origin::start(2 * SECOND));
    let mut fleet = fleet(&server, &origin, 3);
    soon("the load begins", async || !origin.reads().is_empty()).await;
    let leader = origin.reads()[0].0;
    let at = fleet.iter().position(|worker| worker.process.id() == leader).unwrap();
    let mut leader = fleet.swap_remove(at);
    leader.signal("-STOP");
    for worker in &mut fleet {
        assert_eq!(worker.answers(), all_got(2));
    }
    // Its body would have ended meanwhile: it wakes up with a value to publish.
    sleep(SECOND).await;
    leader.signal("-CONT");
    let answers = leader.answers();
    let (own, others) = (all_got(1)[0].clone(), all_got(2)[0].clone());
    let count = |wanted: &String| answers.iter().filter(|answer| *answer == wanted).count();
    assert!(count(&own) <= 1 && count(&own) + count(&others) == CALLERS, "{answers:?}");
    assert_eq!(origin.reads().len(), 2);
    let stored = bytes(connect(&server).await.read("test:k").await);
    assert_eq!(stored.as_deref(), Some(&[2][..]), "what the second load gave, in MessagePack");
    server.assert_every_key_ends();
}
