//! Every promise and every case of the suite on every in-process backend, and whether the suite would notice.

/// On shared values.
mod memory {
    singleflight_tests::promises!(singleflight_tests::harness::Memory::default());
}

/// The same over the other cache.
mod quick {
    singleflight_tests::promises!(singleflight_tests::harness::Quick::default());
}

/// On bytes, as over a wire.
mod bytes {
    singleflight_tests::promises!(singleflight_tests::harness::Bytes::default());
    singleflight_tests::wire_promises!(singleflight_tests::harness::Bytes::default());
}

/// On bytes, with copies in front of them.
mod near {
    singleflight_tests::promises!(singleflight_tests::harness::Near::default());
    singleflight_tests::wire_promises!(singleflight_tests::harness::Near::default());
}

/// The list of promises and cases is made by hand.
#[test]
fn every_promise_and_case_is_on_the_list() {
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/src/suite");
    let list = std::fs::read_to_string(format!("{suite}/mod.rs")).unwrap();
    for file in std::fs::read_dir(suite).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for name in text.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
            let name = name.split('(').next().unwrap();
            assert!(list.split([' ', '\n', ';']).any(|word| word == name), "{name} is not on the list");
        }
    }
}

/// Backends with one fault each: some promise must fail on them.
mod faults {
    use std::future::Future;

    use singleflight_core::testing::Fault;
    use singleflight_tests::harness::{Faulty, Harness};
    use singleflight_tests::suite::{invalidation, leases, waiters};

    /// Whether this promise fails, by a panic, in a task of its own.
    async fn fails<F: Future<Output = ()> + Send + 'static>(
        promise: impl FnOnce(&'static dyn Harness) -> F,
        fault: Fault,
    ) {
        let harness: &'static Faulty = Box::leak(Box::new(Faulty::new(fault)));
        let failed = tokio::spawn(promise(harness)).await;
        assert!(failed.is_err_and(|error| error.is_panic()), "{fault:?} was not noticed");
    }

    #[tokio::test(start_paused = true)]
    async fn p07_a_release_by_key_is_noticed() {
        fails(leases::p07_an_unowned_release_is_no_error_and_frees_nothing, Fault::ReleaseByKey).await;
    }

    #[tokio::test(start_paused = true)]
    async fn p04_a_publish_without_the_token_is_noticed() {
        fails(leases::p04_a_load_that_outlives_its_lease_stores_nothing, Fault::PublishUnchecked).await;
    }

    #[tokio::test(start_paused = true)]
    async fn p05_an_invalidation_that_keeps_the_lease_is_noticed() {
        fails(invalidation::p05_a_late_load_is_not_stored, Fault::InvalidateKeepsLease).await;
        fails(invalidation::p05_a_load_begun_before_is_never_seen_after, Fault::InvalidateKeepsLease).await;
    }

    #[tokio::test(start_paused = true)]
    async fn p14_a_lease_granted_without_a_look_is_noticed() {
        fails(waiters::p14_the_store_is_looked_at_again_under_the_lease, Fault::NoRecheck).await;
    }
}
