//! What tells one value from another.

use singleflight_core::{SingleFlight, single_flight};

use crate::{bytes, process};

mod case_13 {
    use super::*;

    mod a {
        use super::*;

        #[single_flight(key = "case13:<id>", ttl = 30)]
        pub(super) async fn find(id: u64) -> u64 {
            id
        }
    }

    mod b {
        use super::*;

        #[single_flight(key = "case13:<id>", ttl = 30)]
        pub(super) async fn find(id: u64) -> u64 {
            id + 100
        }
    }

    #[single_flight(key = "case13:<a>:<b>", ttl = 30)]
    async fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[tokio::test]
    async fn case_13_functions_and_values_are_kept_apart() {
        let long = "x".repeat(10_000);
        let longer = format!("{long}y");
        let odd = ["", ":", "{", "}", "\0", "é", "a:", ":a", "%", "%3A", "ab", "a", long.as_str(), &longer];
        let calls = async {
            for _ in 0..2 {
                assert_eq!((a::find(1).await, b::find(1).await), (1, 101));
                assert_eq!(pair("ab", "c").await, ("ab".into(), "c".into()));
                assert_eq!(pair("a", "bc").await, ("a".into(), "bc".into()));
                for first in odd {
                    for second in odd {
                        assert_eq!(pair(first, second).await, (first.into(), second.into()));
                    }
                }
            }
        };
        process(&bytes()).scope(calls).await;
    }
}

/// What is refused is in `ui/fail`: `key_float`, `key_float_in_option`, `key_float_local`, `key_without_display`,
/// `key_generic_without_display` and `key_without_debug`. This is what their messages say to write.
mod case_14 {
    use super::*;

    #[derive(Debug)]
    enum State {
        New,
        Old,
    }

    #[single_flight(key = "case14:<price.to_bits()>:<raw>:<state:?>", ttl = 30)]
    async fn find(price: f64, raw: Vec<u8>, state: State) -> String {
        format!("{price} {raw:?} {state:?}")
    }

    #[tokio::test]
    async fn case_14_the_ways_out_of_a_refusal_work() {
        let calls = async {
            assert_eq!(find(0.5, vec![1], State::New).await, "0.5 [1] New");
            assert_eq!(find(0.5, vec![1], State::Old).await, "0.5 [1] Old");
            assert_eq!(find(0.5, vec![2], State::Old).await, "0.5 [2] Old");
            assert_eq!(find(0.25, vec![2], State::Old).await, "0.25 [2] Old");
        };
        SingleFlight::in_memory().scope(calls).await;
    }
}
