//! Time passes when the test says so.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::testing::Kit;
use tokio::sync::Semaphore;

use crate::repository::{Users, read};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn soft_and_hard_ttl_are_passed_exactly() {
    for kit in [Kit::new(), Kit::bytes()] {
        let users = Users::default();
        assert_eq!(read(&kit, &users, 1).await, 1);
        kit.advance(10 * SECOND - Duration::from_nanos(1));
        assert_eq!(read(&kit, &users, 1).await, 1);
        kit.assert("find").fills(1).hits(1).stale(0);

        kit.advance(Duration::from_nanos(1));
        assert_eq!(read(&kit, &users, 1).await, 2, "stale: this caller refreshes it");
        kit.advance(30 * SECOND);
        assert_eq!(read(&kit, &users, 1).await, 3, "gone");
        kit.assert("find").fills(3).hits(1);
    }
}

#[tokio::test]
async fn what_is_invalidated_is_read_again() {
    for kit in [Kit::new(), Kit::bytes()] {
        let users = Users::default();
        assert_eq!(read(&kit, &users, 1).await, 1);
        kit.scope(users.rename(1)).await;
        assert_eq!(read(&kit, &users, 1).await, 2);
        kit.assert_fills("find", 2);
    }
}

/// Time that goes by is not time in which the process stood still: the lease of a load that takes ten times its TTL is
/// renewed all the while, and nobody takes over.
#[tokio::test]
async fn leases_are_renewed_while_time_passes() {
    for kit in [Kit::new(), Kit::bytes()] {
        let (users, gate) = (Users::default(), Arc::new(Semaphore::new(0)));
        let call = |kit: &Kit| {
            let (users, gate) = (users.clone(), gate.clone());
            kit.spawn(async move { users.slow(1, &gate).await })
        };
        let (first, second) = (call(&kit), call(&kit));
        kit.until_followers("user-slow:1", 1).await;
        kit.pass(15 * SECOND).await;
        gate.add_permits(1);
        assert_eq!((first.await.unwrap().unwrap(), second.await.unwrap().unwrap()), (1, 1));
        kit.assert("slow").fills(1).follows(1).renewals(30).takeovers(0);
    }
}

/// A jump is a process that stood still.
#[tokio::test]
async fn a_load_loses_its_lease_to_a_jump() {
    let kit = Kit::new();
    let (users, gate) = (Users::default(), Arc::new(Semaphore::new(0)));
    let call = || {
        let (users, gate) = (users.clone(), gate.clone());
        kit.spawn(async move { users.slow(1, &gate).await })
    };
    let callers = [call(), call()];
    kit.until_followers("user-slow:1", 1).await;
    kit.advance(2 * SECOND);
    gate.add_permits(2);
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap(), 1);
    }
    kit.assert("slow").fills(2).fenced(1);
}

#[tokio::test(start_paused = true)]
async fn a_kit_on_tokios_time_goes_by_it() {
    let kit = Kit::builder().bytes().tokio_time().build();
    let users = Users::default();
    assert_eq!(read(&kit, &users, 1).await, 1);
    tokio::time::sleep(9 * SECOND).await;
    assert_eq!(read(&kit, &users, 1).await, 1);
    kit.pass(21 * SECOND).await;
    assert_eq!(read(&kit, &users, 1).await, 2);
}

#[tokio::test]
#[should_panic(expected = "write `kit.pass(1s).await`")]
async fn tokios_time_is_not_advanced_by_the_kit() {
    Kit::builder().tokio_time().build().advance(SECOND);
}
