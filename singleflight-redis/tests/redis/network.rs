//! What happens to the network, and what its users notice.

use std::time::Duration;

use singleflight_core::{LeaseBackend, SingleFlight};
use singleflight_redis::RedisBackend;
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::rig::{Source, bytes, engine, put, within};
use crate::server::Server;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

async fn through(proxy: &Proxy) -> RedisBackend {
    RedisBackend::builder(&proxy.url()).connect().await.unwrap()
}

#[tokio::test]
async fn p26_a_connection_dead_without_a_word_is_replaced() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let backend = through(&proxy).await;
    put(&backend, "k", "value").await;
    proxy.drop_silently();
    let mut failed = 0;
    let start = Instant::now();
    while backend.read("k").await.is_err() {
        failed += 1;
        assert!(failed <= 4, "three time-outs are enough");
    }
    println!("{failed} calls failed, in {:?}", start.elapsed());
    assert!(start.elapsed() < 2 * SECOND);
    assert_eq!(bytes(backend.read("k").await).unwrap(), "value");
}

#[tokio::test]
async fn p25_a_stalled_network_is_no_worse_than_a_dead_server() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let flights = SingleFlight::builder().backend(std::sync::Arc::new(through(&proxy).await)).build();
    let source = Source::default();
    source.call(&flights, "k", MS).await.unwrap();
    proxy.stall(true);
    let start = Instant::now();
    for round in 0..20 {
        source.call(&flights, &format!("k{round}"), Duration::ZERO).await.unwrap();
    }
    println!("20 calls in {:?}", start.elapsed());
    assert!(start.elapsed() < 3 * SECOND, "{:?}", start.elapsed());
    proxy.stall(false);
    let link = flights.backend().link().unwrap();
    within(3 * SECOND, "the link is up again", async || {
        source.call(&flights, "k", Duration::ZERO).await.unwrap();
        link.is_up()
    })
    .await;
}

#[tokio::test]
async fn p20_a_subscription_dead_without_a_word_costs_time_and_no_more() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let (near, source) = (engine(&server).await, Source::default());
    let far = SingleFlight::builder()
        .backend(std::sync::Arc::new(through(&proxy).await))
        .namespace("test")
        .jitter(false)
        .build();
    // Something is subscribed to already, so that the connection is there to die.
    let warm = far.backend().watch("warm").await.unwrap();
    let lead = source.call(&near, "k", 300 * MS);
    let wait = async {
        within(SECOND, "the load begins", async || source.loads() == 1).await;
        proxy.drop_silently();
        source.call(&far, "k", 300 * MS).await
    };
    let (led, waited) = tokio::join!(lead, wait);
    assert_eq!(led.unwrap(), 1);
    let waited = waited.unwrap();
    assert!(waited <= 2, "at most one load more, in the process whose connections died: {waited}");
    drop(warm);
}

#[tokio::test]
async fn a_hit_is_one_round_trip() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let backend = through(&proxy).await;
    put(&backend, "k", "value").await;
    proxy.delay(20 * MS);
    let start = Instant::now();
    backend.read("k").await.unwrap().unwrap();
    let took = start.elapsed();
    assert!(took >= 40 * MS && took < 75 * MS, "{took:?}");
    assert_eq!(proxy.connections(), 1, "nobody waits, so there is no subscription connection");
}
