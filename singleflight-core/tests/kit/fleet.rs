//! Several processes on one store, and kits that share nothing.

use std::time::Duration;

use singleflight_core::testing::{Kit, Method};

use crate::repository::{Users, read};

#[tokio::test]
async fn processes_share_values_and_kits_do_not() {
    let (a, users) = (Kit::bytes(), Users::default());
    let (b, other) = (a.process(), Kit::bytes());
    assert_eq!(read(&a, &users, 1).await, 1);
    assert_eq!(read(&b, &users, 1).await, 1);
    assert_eq!(read(&other, &users, 1).await, 2);
    b.assert("find").fills(0).hits(1);
    a.advance(Duration::from_secs(30));
    assert_eq!(read(&b, &users, 1).await, 3, "they share the clock");
}

#[tokio::test]
async fn one_process_waits_for_the_load_of_another() {
    let (a, users) = (Kit::bytes(), Users::default());
    let b = a.process();
    let gate = a.backend().on(Method::Publish).hold();
    let call = |kit: &Kit| {
        let users = users.clone();
        kit.spawn(async move { users.find(1).await })
    };
    let first = call(&a);
    gate.reached().await;
    let watches = b.backend().on(Method::Watch).hold();
    let second = call(&b);
    watches.reached().await;
    watches.release();
    gate.release();
    assert_eq!((first.await.unwrap().unwrap().query, second.await.unwrap().unwrap().query), (1, 1));
    b.assert("find").waits(1).fills(0).follows(1);
}

#[tokio::test]
async fn a_process_that_is_cut_off_goes_on_alone_and_comes_back() {
    let (a, users) = (Kit::bytes(), Users::default());
    let b = a.process();
    assert_eq!(read(&b, &users, 1).await, 1);
    b.backend().cut();
    assert_eq!(read(&b, &users, 1).await, 2, "loaded for itself");
    b.assert("find").degraded(1);
    assert_eq!(read(&a, &users, 1).await, 1, "the others notice nothing");
    let sent = b.scope(users.rename(1));
    sent.await;
    assert_eq!(read(&a, &users, 1).await, 1, "an invalidation that cannot be sent");
    b.backend().mend();
    b.advance(Duration::from_secs(1));
    assert_eq!(read(&b, &users, 1).await, 3, "is sent before the store is used again");
    assert_eq!(read(&a, &users, 1).await, 3);
}

#[tokio::test]
async fn tests_beside_each_other_do_not_meet() {
    let tests: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn(async {
                let (kit, users) = (Kit::new(), Users::default());
                for _ in 0..100 {
                    assert_eq!(read(&kit, &users, 1).await, 1);
                    tokio::task::yield_now().await;
                }
                kit.assert("find").fills(1).hits(99);
            })
        })
        .collect();
    for test in tests {
        test.await.unwrap();
    }
}

/// As code under test takes its engine along.
#[tokio::test]
async fn a_scope_is_taken_along_into_tasks() {
    let (kit, users) = (Kit::new(), Users::default());
    let code = async move {
        let task = async move { users.find(1).await };
        tokio::spawn(singleflight_core::SingleFlight::current().scope(task)).await.unwrap()
    };
    assert_eq!(kit.scope(code).await.unwrap().query, 1);
    kit.assert("find").fills(1);
}

#[tokio::test]
async fn settings_of_engine_and_store_hold_for_all_processes() {
    use singleflight_core::{Codec, MemoryBackend};
    use std::sync::Arc;

    let kit = Kit::builder()
        .bytes()
        .engine(|engine| engine.codec(Codec::MessagePack).near(10, Duration::from_secs(5)))
        .build();
    let users = Users::default();
    for kit in [kit.process(), kit] {
        read(&kit, &users, 1).await;
        assert!(kit.flights().statistics().near.is_some());
    }
    let shared = Kit::builder().engine(|engine| engine.near(10, Duration::from_secs(5))).build();
    assert!(shared.flights().statistics().near.is_none(), "values in this process need no copies");
    let none =
        Kit::builder().store(|clock| Arc::new(MemoryBackend::builder().capacity(0).clock(clock).build()));
    let none = none.build();
    read(&none, &users, 1).await;
    read(&none, &users, 1).await;
    none.assert("find").fills(2);
}
