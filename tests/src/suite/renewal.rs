//! P13: leases that are renewed, or lost meanwhile.

use singleflight_core::error::BackendErrorKind;
use singleflight_core::testing::Method;

use crate::harness::{HELD, Harness, LEASE, all, leased, pass, plain, settle, within};
use crate::source::Source;

/// The lease is voided during the load; renewal notices and the followers go on before the old load ends.
pub async fn p13_a_lost_lease_is_noticed_and_followers_look_again(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (old, new) = (Source::gated(), Source::quick());
    new.set(2);
    let leader = a.spawn(leased(plain(), 3 * LEASE), &old);
    old.began().await;
    let follower = a.spawn(plain(), &new);
    settle().await;
    b.invalidate().await;
    assert_eq!(within(2 * LEASE, follower).await.unwrap().unwrap(), 2);
    old.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
    assert_eq!(b.call(plain(), &new).await.unwrap(), 2, "the late value is not stored");
    let total = a.flights.statistics().total;
    assert_eq!((total.fenced, total.duplicate_loads), (1, 1));
}

/// One renewal fails, the next one does not.
pub async fn p13_a_transient_error_does_not_lose_the_lease(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    a.way.on(Method::Renew).times(2).fail(BackendErrorKind::Refused);
    let first = a.spawn(plain(), &source);
    source.began().await;
    let second = b.spawn(plain(), &source);
    let renewed = async {
        while a.way.calls()[Method::Renew] < 3 || a.flights.statistics().total.renewals < 1 {
            pass(LEASE / 100).await;
        }
    };
    within(HELD, renewed).await;
    source.let_through(1);
    all(vec![first, second]).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
    assert_eq!(a.flights.statistics().total.fenced, 0);
}

/// Renewal fails for longer than the TTL: the lease counts as lost, its load stores nothing.
pub async fn p13_renewal_that_fails_for_a_whole_ttl_gives_up(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (old, new) = (Source::gated(), Source::quick());
    new.set(2);
    a.way.on(Method::Renew).times(1000).fail(BackendErrorKind::Refused);
    let leader = a.spawn(leased(plain(), LEASE), &old);
    old.began().await;
    let (here, there) = (a.spawn(plain(), &new), b.spawn(plain(), &new));
    assert_eq!(within(3 * LEASE, there).await.unwrap().unwrap(), 2);
    assert_eq!(within(3 * LEASE, here).await.unwrap().unwrap(), 2);
    old.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
    assert_eq!(a.call(plain(), &new).await.unwrap(), 2);
    let asked = a.way.calls()[Method::Renew];
    pass(5 * LEASE).await;
    assert_eq!(a.way.calls()[Method::Renew], asked, "and stops");
}
