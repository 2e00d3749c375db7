//! Calls inside their own loads, hits, and records that no longer decode.

use std::fmt::{self, Display};
use std::time::Duration;

use singleflight_core::{SingleFlight, key, single_flight};

use crate::{Loads, bytes, process, race};

mod case_11 {
    use super::*;

    #[single_flight(key = "case11:same", ttl = 30, skip(depth, loads))]
    async fn same(depth: u8, loads: &Loads) -> u8 {
        loads.begin();
        if depth == 0 { 0 } else { Box::pin(same(depth - 1, loads)).await + 1 }
    }

    #[single_flight(key = "case11:fib:<n>", ttl = 30, skip(loads))]
    async fn fib(n: u64, loads: &Loads) -> u64 {
        loads.begin();
        if n < 2 { n } else { Box::pin(fib(n - 1, loads)).await + Box::pin(fib(n - 2, loads)).await }
    }

    #[single_flight(key = "case11:even:<n>", ttl = 30)]
    async fn even(n: u64) -> bool {
        if n == 0 { true } else { Box::pin(odd(n - 1)).await }
    }

    #[single_flight(key = "case11:odd:<n>", ttl = 30)]
    async fn odd(n: u64) -> bool {
        if n == 0 { false } else { Box::pin(even(n - 1)).await }
    }

    #[tokio::test(start_paused = true)]
    async fn case_11_functions_that_call_themselves_end() {
        let start = tokio::time::Instant::now();
        let [once, many] = [(); 2].map(|()| Loads::default());
        let calls = async {
            assert_eq!(same(3, &once).await, 3);
            assert_eq!(fib(20, &many).await, 6765);
            assert!(even(10).await && !odd(10).await);
        };
        SingleFlight::in_memory().scope(calls).await;
        assert_eq!((once.count(), many.count()), (4, 21));
        assert_eq!(start.elapsed(), Duration::ZERO, "nobody waits for itself");
    }
}

mod case_19 {
    use super::*;

    /// Counts how often it is displayed; it cannot be cloned.
    struct Counted(Loads);

    impl Display for Counted {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.begin();
            f.write_str("counted")
        }
    }

    #[single_flight(key = "case19:<id>", ttl = 30, skip(loads))]
    async fn find(id: Counted, loads: &Loads) -> usize {
        drop(id);
        loads.begin()
    }

    #[tokio::test]
    async fn case_19_a_hit_renders_the_key_once_and_runs_nothing_else() {
        let loads = Loads::default();
        let calls = async {
            for nth in 1..=3 {
                let rendered = Loads::default();
                assert_eq!(find(Counted(rendered.clone()), &loads).await, 1, "call {nth}");
                assert_eq!(rendered.count(), 1, "call {nth}");
            }
        };
        SingleFlight::in_memory().scope(calls).await;
        assert_eq!(loads.count(), 1);
    }
}

mod case_20 {
    use super::*;

    #[single_flight(key = "case20:<id>", ttl = 30, skip(loads))]
    async fn find(id: u64, loads: Loads) -> u64 {
        let nth = loads.begin() as u64;
        tokio::time::sleep(Duration::from_millis(50)).await;
        id + nth
    }

    #[tokio::test(start_paused = true)]
    async fn case_20_bytes_that_no_longer_decode_are_loaded_once() {
        let backend = bytes();
        let loads = Loads::default();
        assert_eq!(process(&backend).scope(find(10, loads.clone())).await, 11);
        let id = 10;
        assert!(backend.corrupt(&key!("case20:<id>"), b"\xc1 of another schema"));
        let (here, there) = (process(&backend), process(&backend));
        let call = || find(10, loads.clone());
        let (a, b) = tokio::join!(race(&here, 25, call), race(&there, 25, call));
        assert!(a.iter().chain(&b).all(|value| *value == 12), "{a:?} {b:?}");
        assert_eq!(loads.count(), 2);
        assert_eq!(there.scope(call()).await, 12);
    }
}
