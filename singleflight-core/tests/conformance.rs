//! The conformance suite on the backends of this crate, and on mutants of them that it must notice.
#![cfg(feature = "test-util")]

use singleflight_core::testing::conformance::{self, in_process};
use singleflight_core::testing::{BytesBackend, Fault, FaultyBackend, Mutant};
use singleflight_core::{MemoryBackend, NoopBackend};

mod memory {
    use super::*;

    singleflight_core::conformance_suite!(in_process(|clock| MemoryBackend::builder().clock(clock).build()));
}

#[cfg(feature = "quick")]
mod quick {
    use super::*;

    singleflight_core::conformance_suite!(in_process(|clock| MemoryBackend::builder()
        .quick()
        .clock(clock)
        .build()));
}

mod bytes {
    use super::*;

    singleflight_core::conformance_suite!(in_process(BytesBackend::new));
}

/// In one test: what it shows is that nothing is changed on the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_not_disturbed_is_as_the_backend_behind_it() {
    for check in conformance::checks() {
        check.run(&in_process(|clock| FaultyBackend::new(BytesBackend::new(clock))).await).await;
    }
}

mod noop {
    use super::*;

    singleflight_core::conformance_suite!(in_process(|_| NoopBackend), keeps nothing);
}

mod mutants {
    use super::*;

    /// The checks that notice this fault.
    async fn noticed(fault: Fault) -> Vec<&'static str> {
        let mut noticed = Vec::new();
        for check in conformance::checks() {
            let rig = in_process(|clock| Mutant::new(fault, clock)).await;
            if tokio::spawn(async move { check.run(&rig).await }).await.is_err() {
                noticed.push(check.name());
            }
        }
        noticed
    }

    async fn assert_noticed(fault: Fault, by: &str) {
        let noticed = noticed(fault).await;
        assert!(noticed.contains(&by), "{fault:?} was noticed only by {noticed:?}");
    }

    #[tokio::test]
    async fn release_by_key_is_noticed() {
        assert_noticed(Fault::ReleaseByKey, "p07_abandon_frees_only_its_own_lease").await;
    }

    #[tokio::test]
    async fn publish_without_the_token_check_is_noticed() {
        let check = "p04_publish_without_the_live_token_writes_nothing";
        assert_noticed(Fault::PublishUnchecked, check).await;
        assert_noticed(Fault::PublishUnchecked, "p04_publish_after_the_lease_expired_writes_nothing").await;
    }

    #[tokio::test]
    async fn invalidate_that_keeps_the_lease_is_noticed() {
        assert_noticed(Fault::InvalidateKeepsLease, "p05_invalidate_voids_the_lease").await;
    }

    #[tokio::test]
    async fn no_look_after_acquire_is_noticed() {
        assert_noticed(Fault::NoRecheck, "p18_a_fresh_entry_is_answered_instead_of_the_lease").await;
    }
}
