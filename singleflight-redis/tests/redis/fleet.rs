//! Several engines on one server, as several processes would be.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use singleflight_core::backend::{Abandon, Acquire, Acquired, Published, Token};
use singleflight_core::{FlightError, LeaseBackend, SingleFlight};
use singleflight_tests::server::Server;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::rig::{KIND, MINUTE, PATIENCE, Source, connect, engine, offer, put, soon, take, until};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// What the server does, as it says.
pub(crate) struct Monitor {
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Clone)]
struct Seen {
    command: String,
    in_script: bool,
}

impl Monitor {
    pub(crate) fn start(server: &Server) -> Self {
        let mut connection = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        connection.write_all(b"*1\r\n$7\r\nMONITOR\r\n").unwrap();
        let mut lines = BufReader::new(connection).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "+OK");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ours = seen.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // `+<time> [<database> <address or lua>] "COMMAND" …`
                let Some((origin, command)) = line.split_once("] ") else { continue };
                let in_script = origin.ends_with(" lua");
                ours.lock().unwrap().push(Seen { command: command.to_owned(), in_script });
            }
        });
        Self { seen }
    }

    /// All commands so far.
    async fn all(&self, server: &Server) -> Vec<Seen> {
        // What comes before this has been seen once this has.
        server.say(&["ECHO", "so far"]);
        let told = || self.seen.lock().unwrap().iter().any(|seen| seen.command.contains("\"so far\""));
        until("the monitor is told", told).await;
        self.seen.lock().unwrap().clone()
    }

    /// The commands of these names that clients have sent so far.
    pub(crate) async fn of(&self, server: &Server, names: &[&str]) -> Vec<String> {
        let all = self.all(server).await.into_iter().filter(|seen| !seen.in_script);
        let is = |command: &String| names.iter().any(|name| command.starts_with(&format!("\"{name}\"")));
        all.map(|seen| seen.command).filter(is).collect()
    }
}

async fn fleet(server: &Server, processes: usize) -> Vec<SingleFlight> {
    let mut fleet = Vec::new();
    for _ in 0..processes {
        let flights = engine(server).await;
        // Scripts are known and the subscription connection is there, as in a process that has run for a while.
        flights.flight("warm").ttl(MINUTE).run(|| async { Ok::<_, FlightError>(1) }).await.unwrap();
        drop(flights.backend().watch("warm").await.unwrap());
        fleet.push(flights);
    }
    fleet
}

/// So many callers spread over the fleet; gives how late the last waiter was answered.
async fn herd(
    fleet: &[SingleFlight],
    callers: usize,
    source: &Source,
    key: &str,
    took: Duration,
) -> Duration {
    let (start, here) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let calls: Vec<_> = (0..callers)
        .map(|caller| {
            let (flights, source, key) =
                (fleet[caller % fleet.len()].clone(), source.clone(), key.to_owned());
            let here = here.clone();
            tokio::spawn(async move {
                here.fetch_add(1, Ordering::SeqCst);
                let end = || async {
                    until("all have called", || here.load(Ordering::SeqCst) == callers).await;
                    sleep(took).await;
                };
                source.call_until(&flights, &key, end).await.unwrap();
                start.elapsed()
            })
        })
        .collect();
    let mut ended = Vec::new();
    for call in calls {
        ended.push(call.await.unwrap());
    }
    let (first, last) = (ended.iter().min().unwrap(), ended.iter().max().unwrap());
    *last - *first
}

/// Every step that writes, in each of its ways, and all that the server does for them.
async fn every_step() -> Vec<String> {
    let server = Server::start();
    let backend = connect(&server).await;
    let monitor = Monitor::start(&server);
    for size in [10, 10_000] {
        put(&backend, "k", vec![7; size]).await;
        let late = Token::random();
        assert_eq!(backend.publish(offer("k", late, vec![7; size])).await.unwrap(), Published::Refused);
    }
    drop(backend.watch("k").await.unwrap());
    for cooldown in [Duration::ZERO, MINUTE] {
        let token = take(&backend, "k").await;
        backend.renew("k", token, MINUTE).await.unwrap();
        backend.abandon(Abandon::new("k", token).failed("no route", cooldown)).await.unwrap();
    }
    let request = Acquire::new("k", Token::random(), MINUTE, KIND).forced(true).despite_cooldown(true);
    assert_eq!(backend.acquire(request).await.unwrap(), Acquired::Granted);
    backend.invalidate("k").await.unwrap();
    put(&backend, "k", "value").await;
    take(&backend, "k").await;
    server.assert_every_key_ends();
    monitor.all(&server).await.into_iter().map(|seen| seen.command).collect()
}

#[tokio::test]
async fn p09_every_key_is_written_with_its_ttl_in_one_command() {
    /// Those that write a key without one are not among them; a key that is renamed keeps its own.
    const KNOWN: [&str; 20] = [
        "CLIENT",
        "DEL",
        "ECHO",
        "EVAL",
        "EVALSHA",
        "GET",
        "GETRANGE",
        "HELLO",
        "KEYS",
        "PEXPIRE",
        "PING",
        "PTTL",
        "PUBLISH",
        "QUIT",
        "RENAME",
        "ROLE",
        "SET",
        "SUBSCRIBE",
        "UNLINK",
        "UNSUBSCRIBE",
    ];
    let commands = every_step().await;
    for command in &commands {
        let name = command.split('"').nth(1).unwrap().to_uppercase();
        assert!(KNOWN.contains(&&*name), "{command}");
        assert!(name != "SET" || command.contains("\"PX\""), "{command}");
    }
    let written = commands.iter().filter(|command| command.starts_with("\"SET\"")).count();
    assert!(written >= 12, "leases, records and notes are seen: {commands:#?}");
}

#[tokio::test]
async fn p27_the_server_is_told_durations_and_asked_for_no_time_of_day() {
    for command in every_step().await {
        for word in ["TIME", "PXAT", "EXAT", "EXPIREAT", "PEXPIREAT", "EXPIRETIME", "PEXPIRETIME"] {
            assert!(!command.to_uppercase().contains(&format!("\"{word}\"")), "{command}");
        }
    }
}

pub(crate) const SENT: [&str; 7] = ["EVALSHA", "EVAL", "PTTL", "GET", "SET", "SUBSCRIBE", "UNSUBSCRIBE"];

// One thread: who is counted as here has called.
#[tokio::test]
async fn p14_a_herd_in_two_processes_is_one_load() {
    let server = Server::start();
    let fleet = fleet(&server, 2).await;
    let (monitor, source) = (Monitor::start(&server), Source::default());
    let late = herd(&fleet, 100, &source, "hot", 100 * MS).await;
    assert_eq!(source.loads(), 1);
    let sent = monitor.of(&server, &SENT).await;
    println!("2 processes, 100 callers: {} commands, last waiter {late:?} after the first", sent.len());
    let counted = sent.iter().filter(|command| !command.contains("SUBSCRIBE")).count();
    assert!(counted <= 13, "{sent:#?}");
    server.assert_every_key_ends();
}

// One thread: who is counted as here has called.
#[tokio::test]
async fn p14_a_herd_in_four_processes_is_one_load_of_few_commands() {
    let server = Server::start();
    let fleet = fleet(&server, 4).await;
    let (monitor, source) = (Monitor::start(&server), Source::default());
    let late = herd(&fleet, 100, &source, "hot", 100 * MS).await;
    assert_eq!(source.loads(), 1);
    let sent = monitor.of(&server, &SENT).await;
    let counted = sent.iter().filter(|command| !command.contains("SUBSCRIBE")).count();
    println!("4 processes, 100 callers: {counted} commands, last waiter {late:?} after the first");
    assert!(counted <= 25, "{sent:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_a_load_of_many_lease_ttls_is_one_load() {
    let server = Server::start();
    let fleet = fleet(&server, 3).await;
    let source = Source::default();
    let calls = fleet.iter().map(|flights| {
        let (flights, source) = (flights.clone(), source.clone());
        tokio::spawn(async move {
            let load = || async { source.call(&SingleFlight::in_memory(), "inner", 9 * SECOND).await };
            flights.flight("slow").ttl(MINUTE).lock_ttl(4 * SECOND).run(load).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().unwrap(), 1);
    }
    assert_eq!(source.loads(), 1);
}

// One thread: who is counted as here has called.
#[tokio::test]
async fn p15_a_failure_is_one_load_for_all_who_waited_in_all_processes() {
    let server = Server::start();
    let fleet = fleet(&server, 4).await;
    let (monitor, source) = (Monitor::start(&server), Source::default());
    let server = Arc::new(server);
    let here = Arc::new(AtomicUsize::new(0));
    let calls = (0..100).map(|caller| {
        let (flights, source, here) = (fleet[caller % 4].clone(), source.clone(), here.clone());
        let server = server.clone();
        tokio::spawn(async move {
            here.fetch_add(1, Ordering::SeqCst);
            let load = || async {
                source.call(&SingleFlight::in_memory(), "count", Duration::ZERO).await?;
                let all_wait = || {
                    let listening = server.say(&["PUBSUB", "NUMSUB", "sf:{test:bad}w"]);
                    here.load(Ordering::SeqCst) == 100 && listening.trim().ends_with(":3")
                };
                until("all callers wait, and the other three processes", all_wait).await;
                Err::<usize, FlightError>(misconfigured().await)
            };
            flights.flight("bad").ttl(MINUTE).lock_ttl(MINUTE).run(load).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        let error = call.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("makes no sense"), "{error}");
    }
    assert_eq!(source.loads(), 1);
    let sent = monitor.of(&server, &SENT).await;
    println!("4 processes, 100 callers, failing: {} commands with subscriptions", sent.len());
    server.assert_every_key_ends();
}

/// A failure that a body could have.
async fn misconfigured() -> FlightError {
    let flights = SingleFlight::in_memory();
    let load = || async { Ok::<_, FlightError>(1) };
    flights.flight("x").ttl(Duration::ZERO).run(load).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p05_an_invalidation_reaches_loads_in_other_processes() {
    let server = Server::start();
    let fleet = fleet(&server, 2).await;
    let source = Source::default();
    let gate = Arc::new(Semaphore::new(0));
    let old = tokio::spawn({
        let (flights, source, gate) = (fleet[0].clone(), source.clone(), gate.clone());
        async move { source.call_until(&flights, "k", || async { drop(gate.acquire().await) }).await }
    });
    soon("the load begins", async || source.loads() == 1).await;
    fleet[1].invalidate("k").await.unwrap();
    assert_eq!(source.call(&fleet[1], "k", MS).await.unwrap(), 2);
    gate.add_permits(1);
    assert_eq!(old.await.unwrap().unwrap(), 1, "the older load answers its own caller");
    for flights in &fleet {
        assert_eq!(source.call(flights, "k", MS).await.unwrap(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p11_a_leader_that_vanishes_has_one_successor_when_its_lease_ends() {
    let server = Server::start();
    let fleet = fleet(&server, 4).await;
    // Nobody renews this one: the token is of a process that is gone.
    let gone = connect(&server).await;
    let lease = SECOND;
    let request = Acquire::new("test:k", Token::random(), lease, KIND);
    let start = Instant::now();
    gone.acquire(request).await.unwrap();
    let source = Source::default();
    let begun = Arc::new(Mutex::new(Vec::new()));
    let calls = (0..40).map(|caller| {
        let (flights, source, begun) = (fleet[caller % 4].clone(), source.clone(), begun.clone());
        tokio::spawn(async move {
            let load = || async {
                begun.lock().unwrap().push(start.elapsed());
                source.call(&SingleFlight::in_memory(), "count", 50 * MS).await
            };
            flights.flight("k").ttl(MINUTE).lock_ttl(MINUTE).run(load).await.unwrap()
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 1);
    }
    let begun = begun.lock().unwrap().clone();
    println!("the successor began {:?} after a lease of {lease:?} was granted", begun);
    assert_eq!(begun.len(), 1);
    assert!(begun[0] >= lease - 5 * MS && begun[0] < lease + PATIENCE, "{begun:?}");
}

#[tokio::test]
async fn namespaces_keep_services_apart() {
    let server = Server::start();
    let source = Source::default();
    let mut values = Vec::new();
    for namespace in ["a", "b", "a"] {
        let url = format!("{}/0?namespace={namespace}", server.url());
        let backend = Arc::new(
            singleflight_redis::RedisBackend::builder(&url)
                .response_timeout(PATIENCE)
                .connect()
                .await
                .unwrap(),
        );
        let flights = SingleFlight::builder().backend(backend).namespace(namespace).build();
        values.push(source.call(&flights, "k", MS).await.unwrap());
    }
    assert_eq!(values, [1, 2, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_waiters_are_answered_when_the_fill_ends() {
    let server = Server::start();
    let fleet = fleet(&server, 2).await;
    let late = Arc::new(Mutex::new(Vec::new()));
    let keys = (0..20).map(|key| {
        let (here, there, late) = (fleet[0].clone(), fleet[1].clone(), late.clone());
        tokio::spawn(async move {
            for round in 0..10 {
                let (key, source) = (format!("k{key}.{round}"), Source::default());
                let leads = async {
                    source.call(&here, &key, 60 * MS).await.unwrap();
                    Instant::now()
                };
                let waits = async {
                    while source.loads() == 0 {
                        sleep(MS).await;
                    }
                    source.call(&there, &key, MS).await.unwrap();
                    Instant::now()
                };
                let (ended, answered) = tokio::join!(leads, waits);
                assert_eq!(source.loads(), 1);
                late.lock().unwrap().push(answered.saturating_duration_since(ended));
            }
        })
    });
    for key in keys.collect::<Vec<_>>() {
        key.await.unwrap();
    }
    let mut late = late.lock().unwrap().clone();
    late.sort();
    let (median, p99) = (late[late.len() / 2], late[late.len() * 99 / 100]);
    println!("{} waits, answered {median:?} (median), {p99:?} (p99) after the leader was", late.len());
    assert!(late[late.len() - 1] < PATIENCE, "nobody waits for the lease to end");
}
