//! What is returned and for how long it is kept.

use std::time::Duration;

use singleflight_core::{FlightError, FlightErrorKind, Policy, SingleFlight, single_flight};

use crate::{LoadError, Loads, bytes, process, race};

mod case_06 {
    use super::*;

    type ApiResult<T> = Result<T, LoadError>;

    #[single_flight(key = "case06:alias", ttl = 30, skip(loads))]
    async fn alias(loads: &Loads) -> ApiResult<usize> {
        let nth = loads.begin();
        if nth < 3 { Err(LoadError) } else { Ok(nth) }
    }

    #[single_flight(key = "case06:io", ttl = 30, skip(loads))]
    async fn io(loads: &Loads) -> std::io::Result<usize> {
        let nth = loads.begin();
        if nth < 3 { Err(std::io::Error::other("disk")) } else { Ok(nth) }
    }

    #[single_flight(key = "case06:any", ttl = 30, skip(loads))]
    async fn any(loads: &Loads) -> anyhow::Result<usize> {
        let nth = loads.begin();
        anyhow::ensure!(nth >= 3, "early");
        Ok(nth)
    }

    #[tokio::test]
    async fn case_06_an_error_is_never_stored() {
        let [first, second, third] = [(); 3].map(|()| Loads::default());
        let calls = async {
            for good in [false, false, true, true] {
                assert_eq!(alias(&first).await.ok(), good.then_some(3));
                assert_eq!(io(&second).await.ok(), good.then_some(3));
                assert_eq!(any(&third).await.ok(), good.then_some(3));
            }
        };
        process(&bytes()).scope(calls).await;
        assert_eq!([first, second, third].map(|loads| loads.count()), [3; 3]);
    }
}

mod case_07 {
    use super::*;

    /// Neither `Clone` nor `From<FlightError>`, as `sqlx::Error`.
    #[derive(Debug, PartialEq)]
    enum DbError {
        NotFound,
    }

    fn copy(error: &DbError) -> DbError {
        match error {
            DbError::NotFound => DbError::NotFound,
        }
    }

    #[derive(Debug, thiserror::Error)]
    enum Declared {
        #[error("not found")]
        NotFound,
        #[error(transparent)]
        Flight(#[from] FlightError),
    }

    #[single_flight(key = "case07:shared", ttl = 30, share_error = copy, skip(loads))]
    async fn shared(loads: Loads) -> Result<u8, DbError> {
        loads.begin();
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err(DbError::NotFound)
    }

    #[single_flight(key = "case07:declared", ttl = 30, skip(loads))]
    async fn declared(loads: Loads) -> Result<u8, Declared> {
        loads.begin();
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err(Declared::NotFound)
    }

    #[tokio::test(start_paused = true)]
    async fn case_07_everyone_gets_the_declared_error() {
        let loads = Loads::default();
        let flights = SingleFlight::in_memory();
        let errors = race(&flights, 50, || shared(loads.clone())).await;
        assert!(errors.iter().all(|error| *error == Err(DbError::NotFound)), "{errors:?}");
        assert_eq!(loads.count(), 1);

        let errors = race(&flights, 50, || declared(loads.clone())).await;
        let own = errors.iter().filter(|error| matches!(error, Err(Declared::NotFound))).count();
        assert_eq!(own, 1, "the leader's own error; the others get it in words: {errors:?}");
        for error in &errors {
            assert!(error.as_ref().unwrap_err().to_string().contains("not found"), "{error:?}");
        }
        assert_eq!(loads.count(), 2);
    }
}

/// What is refused by the compiler is in `ui/fail`: `ttl_zero`, `ttl_negative`, `ttl_too_long`, `ttl_fraction`,
/// `ttl_path_zero`, `soft_ttl_longer`, `soft_ttl_path_longer`, `lock_ttl_zero`, `lock_ttl_path_zero`,
/// `negative_ttl_zero` and `policy_out_of_range`. These are values made at run time.
mod case_15 {
    use super::*;

    #[tokio::test]
    async fn case_15_senseless_durations_are_refused_and_never_mean_for_ever() {
        let flights = SingleFlight::in_memory();
        let load = || async { Ok::<u8, FlightError>(1) };
        let second = Duration::from_secs(1);
        let refused = [
            Policy::new().ttl(Duration::ZERO),
            Policy::new().ttl(Duration::MAX),
            Policy::new().ttl(second).soft_ttl(2 * second),
            Policy::new().ttl(second).lock_ttl(singleflight_core::LockTtl::Fixed(Duration::ZERO)),
        ];
        for policy in refused {
            let error = flights.flight("case15").policy(policy).run(load).await.unwrap_err();
            assert_eq!(error.kind(), FlightErrorKind::Misconfigured, "{policy:?}");
            assert!(flights.override_policy("case15", policy).is_err(), "{policy:?}");
        }
        let sub_second = Policy::new().ttl(Duration::from_millis(1));
        assert_eq!(flights.flight("case15").policy(sub_second).run(load).await.unwrap(), 1);
    }
}
