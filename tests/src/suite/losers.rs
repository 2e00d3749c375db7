//! What callers without the lease do, as the policy says; overrides, and the figures.

use singleflight_core::testing::{Method, Moment};
use singleflight_core::{FlightErrorKind, Losers, OnTimeout, Site};

use crate::harness::{Harness, KEY, LEASE, all, leased, pass, plain, settle, soft, within};
use crate::source::{LoadError, SITE, Source};

/// `losers = "fail"`: an error at once, for followers and for those who find the lease held elsewhere.
pub async fn p14_losers_that_fail_do_so_at_once(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = plain().losers(Losers::Fail);
    let source = Source::gated();
    let leader = a.spawn(policy, &source);
    source.began().await;
    for process in [&a, &b] {
        for call in process.spawn_many(10, policy, &source) {
            let error = within(LEASE / 4, call).await.unwrap().unwrap_err();
            assert_eq!(error.kind(), Some(FlightErrorKind::Busy));
        }
    }
    source.let_through(1);
    assert_eq!(leader.await.unwrap().unwrap(), 1);
    for process in [&a, &b] {
        assert_eq!(process.call(policy, &source).await.unwrap(), 1, "a hit is for everyone");
    }
    assert_eq!(source.loads(), 1);
}

/// A load that is over makes nobody fail, though its leader does not know yet that its value is stored.
pub async fn p18_losers_that_fail_wait_for_the_answer_to_a_publish(harness: &dyn Harness) {
    let a = harness.process();
    let policy = plain().losers(Losers::Fail);
    let source = Source::quick();
    let gate = a.way.on(Method::Publish).at(Moment::After).hold();
    let leader = a.spawn(policy, &source);
    gate.reached().await;
    let loser = a.spawn(policy, &source);
    settle().await;
    drop(gate);
    for call in [leader, loser] {
        assert_eq!(within(LEASE / 4, call).await.unwrap().unwrap(), 1);
    }
    assert_eq!(source.loads(), 1);
}

/// A parked leader does not make the others fail for ever.
pub async fn p12_losers_that_fail_take_over_a_parked_leader(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let lease = 3 * LEASE;
    let policy = leased(plain(), lease).losers(Losers::Fail);
    let (dead, source) = (Source::gated(), Source::quick());
    let flights = a.flights.clone();
    let other = dead.clone();
    let mut parked =
        Box::pin(
            async move { flights.flight(KEY).site(&SITE).policy(policy).run_sharing(|| other.load()).await },
        );
    tokio::select! {
        biased;
        _ = &mut parked => panic!("the load was to hang"),
        () = dead.began() => {}
    }
    assert!(a.call(policy, &source).await.is_err());
    pass(2 * lease).await;
    assert_eq!(a.call(policy, &source).await.unwrap(), 1);
    assert_eq!(b.call(policy, &source).await.unwrap(), 1);
    drop(parked);
}

/// A stale copy wins over failing.
pub async fn p18_losers_that_fail_take_a_stale_copy(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let policy = soft().losers(Losers::Fail);
    let (source, slow) = (Source::quick(), Source::gated());
    a.call(policy, &source).await.unwrap();
    pass(11 * LEASE).await;
    let refresh = a.spawn(policy, &slow);
    slow.began().await;
    for process in [&a, &b] {
        assert_eq!(within(LEASE / 4, process.call(policy, &slow)).await.unwrap(), 1);
    }
    slow.let_through(1);
    refresh.await.unwrap().unwrap();
}

/// Callers of one key need not be of one mind.
pub async fn p14_losers_of_different_minds_share_a_flight(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let mut waiting = Vec::new();
    for process in [&a, &b, &a, &b] {
        waiting.push(process.spawn(plain(), &source));
        settle().await;
        let failing = process.spawn(plain().losers(Losers::Fail), &source);
        assert!(within(LEASE / 4, failing).await.unwrap().is_err());
    }
    source.let_through(1);
    waiting.push(leader);
    all(waiting).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    assert_eq!(source.loads(), 1);
}

/// The impatient one comes first and leads; it leaves when it finds the lease held elsewhere, the others go on.
pub async fn p16_a_leader_that_will_not_wait_hands_over(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = b.spawn(plain(), &source);
    source.began().await;
    let failing = a.spawn(plain().losers(Losers::Fail), &source);
    let waiting = a.spawn_many(3, plain(), &source);
    assert!(within(LEASE / 4, failing).await.unwrap().is_err());
    source.let_through(1);
    all(waiting).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
    leader.await.unwrap().unwrap();
    assert_eq!(source.loads(), 1);
    harness.freed().await;
}

/// Overrides take effect on the next call, by name, and can be lifted.
pub async fn p14_a_policy_can_be_overridden_at_run_time(harness: &dyn Harness) {
    static OTHER: Site = Site::new("shop::rows::other");
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = b.spawn(plain(), &source);
    source.began().await;
    // Before the function is met for the first time, and while it waits.
    a.flights.override_policy(SITE.name(), plain().losers(Losers::Fail)).unwrap();
    let error = within(LEASE / 4, a.call(plain(), &source)).await.unwrap_err();
    assert_eq!(error.kind(), Some(FlightErrorKind::Busy));
    let load = || async { Ok::<_, LoadError>(7_u64) };
    let other = a.flights.flight("another key").site(&OTHER).policy(plain()).run_sharing(load);
    assert_eq!(other.await.unwrap(), 7, "others are not concerned");
    a.flights.override_policy(SITE.name(), None).unwrap();
    let waiting = a.spawn(plain(), &source);
    settle().await;
    assert!(!waiting.is_finished());
    assert!(a.flights.override_policy(SITE.name(), plain().jitter(2.0)).is_err(), "nonsense is refused");
    source.let_through(1);
    all(vec![waiting, leader]).await.into_iter().for_each(|result| assert_eq!(result.unwrap(), 1));
}

/// An override to "default" for a function that has none means "wait" and "load".
pub async fn p19_an_override_to_a_default_there_is_none_of_waits_and_loads(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let (hung, source) = (Source::gated(), Source::quick());
    let leader = b.spawn(plain(), &hung);
    hung.began().await;
    let policy = plain().losers(Losers::Default).wait(5 * LEASE).on_timeout(OnTimeout::Default);
    a.flights.override_policy(SITE.name(), policy).unwrap();
    let call = a.spawn(plain(), &source);
    pass(LEASE).await;
    assert_eq!((call.is_finished(), source.loads()), (false, 0), "it waits");
    assert_eq!(within(6 * LEASE, call).await.unwrap().unwrap(), 1, "and then loads");
    assert_eq!(a.flights.statistics().total.defaults, 0);
    hung.let_through(1);
    leader.await.unwrap().unwrap();
}

/// Two functions with one template, of equal and of different types: never one another's value.
pub async fn p22_functions_that_share_a_key_do_not_share_values(harness: &dyn Harness) {
    static TWIN: Site = Site::new("shop::rows::twin");
    let (a, b) = (harness.process(), harness.process());
    let source = Source::quick();
    for process in [&a, &b] {
        let flights = &process.flights;
        for _ in 0..2 {
            assert_eq!(process.call(plain(), &source).await.unwrap(), 1);
            let load = || async { Ok::<_, LoadError>(77_u64) };
            assert_eq!(flights.flight(KEY).site(&TWIN).policy(plain()).run_sharing(load).await.unwrap(), 77);
            let load = || async { Ok::<_, LoadError>("text".to_owned()) };
            let text = flights.flight(KEY).site(&SITE).policy(plain()).run_sharing(load).await.unwrap();
            assert_eq!(text, "text");
        }
    }
}

/// The figures say what happened.
pub async fn p14_the_figures_say_what_happened(harness: &dyn Harness) {
    let (a, b) = (harness.process(), harness.process());
    let source = Source::gated();
    let leader = a.spawn(plain(), &source);
    source.began().await;
    let mut calls = a.spawn_many(4, plain(), &source);
    calls.extend(b.spawn_many(3, plain(), &source));
    settle().await;
    source.let_through(1);
    all(calls).await;
    leader.await.unwrap().unwrap();
    a.call(plain(), &source).await.unwrap();
    b.call(plain(), &source).await.unwrap();
    let (here, there) = (a.flights.statistics().of("find"), b.flights.statistics().of("find"));
    assert_eq!((here.fills, here.follows, here.hits, here.errors), (1, 4, 1, 0));
    assert_eq!((here.acquires_granted, here.acquires_held, here.takeovers), (1, 0, 0));
    assert_eq!((there.fills, there.follows, there.hits, there.waits), (0, 3, 1, 1));
    assert!(there.acquires_held >= 1 && there.acquires_granted == 0);
    assert_eq!((here.timeouts, here.fenced, here.duplicate_loads, here.degraded), (0, 0, 0, 0));
    assert_eq!(a.flights.statistics().of("nobody").fills, 0);
}
