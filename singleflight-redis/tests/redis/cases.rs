//! Cases that users of other systems met, on a server. Those that are a promise in other words are among the promises.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use singleflight_core::{FlightError, LockTtl, Policy, SingleFlight};
use singleflight_tests::harness::GRAIN;
use singleflight_tests::server::Server;
use singleflight_tests::source::{LoadError, SITE, Source};
use singleflight_tests::suite::leases::Unwritable;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::fleet::{Monitor, SENT};
use crate::proxy::Proxy;
use crate::rig::{MINUTE, PATIENCE, engine, engine_on, nothing_is_left, patient, soon, until};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

const PLAIN: Policy = Policy::new().ttl(MINUTE).lock_ttl(LockTtl::Fixed(MINUTE));
const SHORT: Policy = PLAIN.lock_ttl(LockTtl::Fixed(SECOND));
/// For what goes on for longer than a lease, on a machine that may stand still for a while.
const MEDIUM: Policy = PLAIN.lock_ttl(LockTtl::Fixed(MEDIUM_LEASE));
const MEDIUM_LEASE: Duration = Duration::from_secs(4);

type Row = JoinHandle<Result<u64, LoadError>>;

fn call(flights: &SingleFlight, key: &str, policy: Policy, source: &Arc<Source>) -> Row {
    let (flights, source, key) = (flights.clone(), source.clone(), key.to_owned());
    tokio::spawn(async move {
        flights.flight(&key).site(&SITE).policy(policy).run_sharing(|| source.load()).await
    })
}

async fn got(row: Row) -> u64 {
    tokio::time::timeout(PATIENCE, row).await.expect("nobody hangs").unwrap().unwrap()
}

fn leases(server: &Server) -> usize {
    server.keys().iter().filter(|key| key.ends_with("}l")).count()
}

/// A process that reaches the server through a network of its own.
async fn behind(server: &Server) -> (Proxy, SingleFlight) {
    let proxy = Proxy::start(server).await;
    let flights = engine_on(patient(&proxy.url()).connect().await.unwrap());
    (proxy, flights)
}

#[tokio::test]
async fn case_21_a_load_longer_than_its_lease_is_one_load() {
    let server = Server::start();
    let (one, other) = (engine(&server).await, engine(&server).await);
    let source = Source::slow(2 * MEDIUM_LEASE);
    let calls = [&one, &other].map(|flights| call(flights, "k", MEDIUM, &source));
    for row in calls {
        assert_eq!(got(row).await, 1);
    }
    assert_eq!(source.loads(), 1);
    nothing_is_left(&server, &[&one, &other]).await;
}

#[tokio::test]
async fn case_21_kept_from_renewing_it_stores_nothing_and_leaves_the_next_lease_alone() {
    let server = Server::start();
    let (near, (proxy, far)) = (engine(&server).await, behind(&server).await);
    let (old, new) = (Source::gated(), Source::gated());
    let late = call(&far, "k", SHORT, &old);
    old.began().await;
    proxy.stall(true);
    new.set(2);
    let next = call(&near, "k", PLAIN, &new);
    new.began().await;
    proxy.stall(false);
    old.let_through(1);
    assert_eq!(got(late).await, 1, "its caller has its value");
    assert_eq!(leases(&server), 1, "the new lease is left alone");
    new.let_through(1);
    assert_eq!(got(next).await, 2);
    assert_eq!(got(call(&far, "k", PLAIN, &old)).await, 2, "nothing of it was stored");
    nothing_is_left(&server, &[&near, &far]).await;
}

/// A load that read 1 is under way, the row becomes 2 and the key is invalidated; a second caller comes.
async fn read_before_written(server: &Server, policy: Policy, seen: Option<u64>) {
    let (one, other, third) = (engine(server).await, engine(server).await, engine(server).await);
    let (old, new) = (Source::gated(), Source::quick());
    if let Some(seen) = seen {
        new.set(seen);
        assert_eq!(got(call(&one, "k", policy, &new)).await, seen);
        sleep(300 * MS).await;
    }
    let first = call(&one, "k", policy, &old);
    old.began().await;
    new.set(2);
    other.invalidate("k").await.unwrap();
    assert_eq!(got(call(&other, "k", policy.soft_ttl(MINUTE), &new)).await, 2);
    old.let_through(1);
    assert_eq!(got(first).await, 1);
    let none = Source::quick();
    none.set(9);
    assert_eq!(
        got(call(&third, "k", policy.soft_ttl(MINUTE), &none)).await,
        2,
        "the store holds the newer one"
    );
    nothing_is_left(server, &[&one, &other, &third]).await;
}

#[tokio::test]
async fn case_22_what_was_read_before_a_write_is_not_stored_after_it() {
    read_before_written(&Server::start(), PLAIN, None).await;
}

#[tokio::test]
async fn case_22_nor_is_what_a_refresh_read_before_a_write() {
    read_before_written(&Server::start(), PLAIN.soft_ttl(200 * MS), Some(7)).await;
}

#[tokio::test]
async fn case_23_a_value_that_cannot_be_kept_is_given_and_its_lease_is_free_at_once() {
    let server = Server::with(&["--maxmemory-policy", "noeviction"]);
    let flights = engine(&server).await;
    let unwritable = flights.flight("unwritable").policy(PLAIN);
    let value = unwritable.run(|| async { Ok::<_, FlightError>(Unwritable(1)) }).await.unwrap();
    assert_eq!(value, Unwritable(1));
    soon("its lease is free", async || leases(&server) == 0).await;
    let source = Source::gated();
    let full = call(&flights, "full", PLAIN, &source);
    source.began().await;
    server.say(&["CONFIG", "SET", "maxmemory", "1"]);
    source.let_through(1);
    assert_eq!(got(full).await, 1);
    soon("its lease is free", async || leases(&server) == 0).await;
    server.say(&["CONFIG", "SET", "maxmemory", "0"]);
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn case_24_a_load_that_never_returns_is_taken_over_and_its_late_value_refused() {
    let server = Server::start();
    let (one, other) = (engine(&server).await, engine(&server).await);
    let (hung, source) = (Source::gated(), Source::quick());
    source.set(2);
    let policy = MEDIUM.max_hold(6 * SECOND);
    let before = Instant::now();
    let zombie = call(&one, "k", policy, &hung);
    hung.began().await;
    assert_eq!(got(call(&other, "k", policy, &source)).await, 2);
    assert!(source.load_times()[0] - before >= 6 * SECOND - GRAIN, "not before it has held on for so long");
    hung.let_through(1);
    assert_eq!(got(zombie).await, 1);
    assert_eq!(got(call(&one, "k", policy, &source)).await, 2);
    assert_eq!((source.loads(), one.statistics().total.fenced), (1, 1));
    nothing_is_left(&server, &[&one, &other]).await;
}

#[tokio::test]
async fn case_26_those_who_wait_elsewhere_are_told_of_a_failure_and_of_nothing_at_once() {
    let server = Server::start();
    let (one, other) = (engine(&server).await, engine(&server).await);
    for fails in [true, false] {
        let (source, key) = (Source::gated(), format!("k{fails}"));
        let ask = |flights: &SingleFlight| {
            let (flights, source, key) = (flights.clone(), source.clone(), key.clone());
            tokio::spawn(async move {
                let load = || async { source.load().await.map(|_| None::<u64>) };
                flights.flight(&key).site(&SITE).policy(PLAIN).run_sharing(load).await
            })
        };
        let leads = ask(&one);
        source.began().await;
        let waits = [ask(&other), ask(&other)];
        let channel = format!("sf:{{test:{key}}}w");
        until("they wait", || server.say(&["PUBSUB", "CHANNELS", &channel]).contains(&channel)).await;
        source.fail(fails);
        source.let_through(1);
        assert_eq!(leads.await.unwrap().is_err(), fails);
        // The lease is three times as long as this.
        for row in waits {
            let answer = tokio::time::timeout(PATIENCE, row).await.expect("told at once").unwrap();
            assert_eq!(answer.ok(), (!fails).then_some(None));
        }
        assert_eq!(source.loads(), 1);
    }
    nothing_is_left(&server, &[&one, &other]).await;
}

#[tokio::test]
async fn case_28_waiting_for_a_load_of_many_leases_takes_few_commands() {
    let server = Server::start();
    let fleet = [engine(&server).await, engine(&server).await, engine(&server).await];
    let (monitor, source) = (Monitor::start(&server), Source::slow(3 * MEDIUM_LEASE));
    let calls = fleet.iter().flat_map(|flights| (0..5).map(|_| call(flights, "k", MEDIUM, &source)));
    for row in calls.collect::<Vec<_>>() {
        assert_eq!(got(row).await, 1);
    }
    let sent = monitor.of(&server, &SENT).await.len();
    println!("3 processes of 5 waiters, 3 leases: {sent} commands");
    assert!(source.loads() == 1 && sent < 100, "{sent} commands");
    nothing_is_left(&server, &fleet.each_ref()).await;
}

#[tokio::test]
async fn case_29_a_thousand_waiters_on_a_hundred_keys_do_not_keep_loads_from_ending() {
    let server = Server::start();
    let fleet = [engine(&server).await, engine(&server).await];
    let source = Source::gated();
    let waiter = |at: usize| call(&fleet[at / 500], &format!("k{}", at % 100), PLAIN, &source);
    let calls: Vec<_> = (0..1000).map(waiter).collect();
    until("all keys are loaded", || source.loads() == 100).await;
    let listening = || server.say(&["PUBSUB", "CHANNELS", "*"]).matches("}w").count();
    until("each is waited for elsewhere", || listening() == 100).await;
    source.let_through(100);
    for row in calls {
        assert_eq!(got(row).await, 1);
    }
    assert_eq!((source.loads(), leases(&server)), (100, 0));
    nothing_is_left(&server, &fleet.each_ref()).await;
}

#[tokio::test]
async fn case_32_a_connection_that_breaks_and_is_back_before_the_lease_ends_goes_on_renewing() {
    let server = Server::start();
    let (near, (_proxy, far)) = (engine(&server).await, behind(&server).await);
    let source = Source::gated();
    let leads = call(&far, "k", PLAIN.lock_ttl(LockTtl::Fixed(6 * SECOND)), &source);
    source.began().await;
    let waits = call(&near, "k", PLAIN, &source);
    server.cut("normal");
    // More than a lease.
    sleep(7 * SECOND).await;
    source.let_through(1);
    assert_eq!((got(leads).await, got(waits).await), (1, 1));
    assert_eq!((source.loads(), far.statistics().total.fenced), (1, 0), "it was renewed");
    nothing_is_left(&server, &[&near, &far]).await;
}

#[tokio::test]
async fn case_32_back_only_after_the_lease_ended_it_is_fenced() {
    let server = Server::start();
    let (near, (proxy, far)) = (engine(&server).await, behind(&server).await);
    let (old, new) = (Source::gated(), Source::quick());
    new.set(2);
    let leads = call(&far, "k", SHORT, &old);
    old.began().await;
    proxy.stall(true);
    server.cut("normal");
    assert_eq!(got(call(&near, "k", SHORT, &new)).await, 2, "it is taken over");
    proxy.stall(false);
    soon("the connection is back", async || far.backend().link().unwrap().is_up()).await;
    old.let_through(1);
    assert_eq!(got(leads).await, 1);
    assert_eq!(got(call(&far, "k", SHORT, &old)).await, 2, "nothing of it was stored");
    assert_eq!(far.statistics().total.fenced, 1);
    nothing_is_left(&server, &[&near, &far]).await;
}

#[tokio::test]
async fn case_33_a_restart_between_the_lease_and_the_publish_is_no_error() {
    let mut server = Server::start();
    let (flights, source) = (engine(&server).await, Source::gated());
    let first = call(&flights, "k", PLAIN, &source);
    source.began().await;
    server.kill();
    server.revive();
    soon("the link is up again", async || flights.backend().link().unwrap().is_up()).await;
    source.let_through(2);
    assert_eq!(got(first).await, 1);
    source.set(2);
    assert_eq!(got(call(&flights, "k", PLAIN, &source)).await, 2, "its lease was gone, so it was not stored");
    assert_eq!(got(call(&flights, "k", PLAIN, &source)).await, 2, "and the next one is");
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_38_ten_thousand_keys_with_nested_loads_do_not_block_each_other() {
    let server = Server::start();
    let flights = engine(&server).await;
    let loads = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..10_000_u32)
        .map(|n| {
            let (flights, loads) = (flights.clone(), loads.clone());
            tokio::spawn(async move {
                let (outer, inner) = (format!("outer:{n}"), format!("inner:{}", n / 2));
                let load = || async {
                    let load = || async {
                        loads.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, FlightError>(n / 2)
                    };
                    flights.flight(&inner).policy(PLAIN).run(load).await.map(|value| value + 1)
                };
                flights.flight(&outer).policy(PLAIN).run(load).await
            })
        })
        .collect();
    for (n, row) in calls.into_iter().enumerate() {
        let value = tokio::time::timeout(3 * PATIENCE, row).await.expect("nobody hangs").unwrap();
        assert_eq!(value.unwrap() as usize, n / 2 + 1);
    }
    assert_eq!(loads.load(Ordering::SeqCst), 5_000);
    let stored = server.keys().iter().filter(|key| key.ends_with("}v")).count();
    assert_eq!((stored, leases(&server)), (15_000, 0), "no fill is lost");
    assert_eq!(flights.in_progress(), 0);
}
