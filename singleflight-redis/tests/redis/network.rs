//! What happens to the network, and what its users notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use singleflight_core::error::BackendErrorKind::Timeout;
use singleflight_core::{FlightError, LeaseBackend, SingleFlight};
use singleflight_redis::RedisBackend;
use singleflight_tests::server::Server;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::rig::{
    PATIENCE, Source, bytes, connect, engine, engine_on, nothing_is_left, patient, put, reached, soon,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

async fn through(proxy: &Proxy) -> RedisBackend {
    reached(&RedisBackend::builder(&proxy.url())).await
}

#[tokio::test]
async fn p26_a_connection_dead_without_a_word_is_replaced() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    put(&connect(&server).await, "k", "value").await;
    let backend = through(&proxy).await;
    proxy.lose_silently(0);
    let (mut failed, mut read) = (0, None);
    let start = Instant::now();
    soon("it is replaced", async || {
        read = backend.read("k").await.map_err(|error| failed += u32::from(error.kind() == Timeout)).ok();
        read.is_some()
    })
    .await;
    println!("{failed} calls timed out, in {:?}", start.elapsed());
    assert!(failed <= 8, "three time-outs are enough, and a few more on a busy machine: {failed}");
    assert_eq!(bytes(Ok(read.flatten())).unwrap(), "value");
}

#[tokio::test]
async fn p25_a_stalled_network_is_no_worse_than_a_dead_server() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let flights = SingleFlight::builder().backend(Arc::new(through(&proxy).await)).build();
    let source = Source::default();
    source.call(&flights, "k", MS).await.unwrap();
    proxy.stall(true);
    let start = Instant::now();
    for round in 0..200 {
        source.call(&flights, &format!("k{round}"), Duration::ZERO).await.unwrap();
    }
    println!("200 calls in {:?}", start.elapsed());
    // A time-out each would be 50 seconds.
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    proxy.stall(false);
    let link = flights.backend().link().unwrap();
    soon("the link is up again", async || {
        source.call(&flights, "k", Duration::ZERO).await.unwrap();
        link.is_up()
    })
    .await;
    nothing_is_left(&server, &[&flights]).await;
}

#[tokio::test]
async fn p20_a_subscription_dead_without_a_word_is_noticed() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let (near, source) = (engine(&server).await, Source::default());
    let far = RedisBackend::builder(&proxy.url()).dial_timeout(PATIENCE).response_timeout(2 * SECOND);
    let far = engine_on(reached(&far).await);
    // Something is subscribed to already, so that the connection is there to die.
    let warm = far.backend().watch("warm").await.unwrap();
    let lead = async {
        let led = source.call(&near, "k", 8 * SECOND).await;
        (led, Instant::now())
    };
    let wait = async {
        soon("the load begins", async || source.loads() == 1).await;
        let call = source.call(&far, "k", MS);
        let lose = async {
            let listening = async || server.say(&["PUBSUB", "CHANNELS", "sf:{test:k}w"]).contains("}w");
            soon("it waits", listening).await;
            // The first carries data, the second subscriptions.
            assert_eq!(proxy.connections(), 2);
            proxy.lose_silently(1);
        };
        let (waited, ()) = tokio::join!(call, lose);
        (waited, Instant::now())
    };
    let ((led, then), (waited, now)) = tokio::join!(lead, wait);
    assert_eq!((led.unwrap(), waited.unwrap()), (1, 1));
    let late = now.duration_since(then);
    println!("answered {late:?} after the load ended");
    assert!(late < PATIENCE, "the loss is noticed meanwhile, not when the lease ends: {late:?}");
    drop(warm);
}

#[tokio::test]
async fn p05_a_question_that_arrives_late_does_not_bring_an_older_load_back() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let (near, far) = (engine(&server).await, engine_on(patient(&proxy.url()).connect().await.unwrap()));
    let (row, gate) = (Arc::new(AtomicUsize::new(1)), Arc::new(Semaphore::new(0)));
    let loads = Arc::new(AtomicUsize::new(0));
    let call = |flights: &SingleFlight, key: &'static str| {
        let (flights, row, gate, loads) = (flights.clone(), row.clone(), gate.clone(), loads.clone());
        tokio::spawn(async move {
            let load = || async {
                let value = row.load(Ordering::SeqCst);
                loads.fetch_add(1, Ordering::SeqCst);
                drop(gate.acquire().await);
                Ok::<_, FlightError>(value)
            };
            flights.flight(key).ttl(PATIENCE * 3).lock_ttl(6 * SECOND).run(load).await.unwrap()
        })
    };
    // So that the server knows the script.
    near.flight("warm").ttl(PATIENCE).run(|| async { Ok::<_, FlightError>(1) }).await.unwrap();
    // The first question for the lease of this key: neither the look before it nor a note after it has these words.
    let late = proxy.keep_next("{test:k}l");
    let old = call(&far, "k");
    soon("the question is on its way", async || proxy.keeps()).await;
    soon("the load begins", async || loads.load(Ordering::SeqCst) == 1).await;
    row.store(2, Ordering::SeqCst);
    near.invalidate("k").await.unwrap();
    late.notify_one();
    soon("the question has arrived", async || server.keys().iter().any(|key| key.ends_with("k}l"))).await;
    gate.add_permits(1);
    assert_eq!(old.await.unwrap(), 1, "its own caller came before");
    for flights in [&near, &far] {
        assert_eq!(call(flights, "k").await.unwrap(), 2);
    }
}

#[tokio::test]
async fn a_hit_is_one_round_trip() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let backend = patient(&proxy.url()).connect().await.unwrap();
    put(&backend, "k", "value").await;
    proxy.delay(3 * SECOND);
    let start = Instant::now();
    backend.read("k").await.unwrap().unwrap();
    let took = start.elapsed();
    assert!(took >= 6 * SECOND && took < 12 * SECOND, "{took:?}");
    assert_eq!(proxy.connections(), 1, "nobody waits, so there is no subscription connection");
}
