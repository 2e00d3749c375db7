//! Functions made by macros, and the crate under another name.

use singleflight_core::single_flight;

/// The crate under another name is in `tests/renamed`.
mod case_18_made_by_macros {
    use super::*;

    macro_rules! find {
        ($name:ident, $key:literal, $arg:ident: $ty:ty => $value:ty, $body:expr) => {
            #[single_flight(key = $key, ttl = 30)]
            async fn $name($arg: $ty) -> Option<$value> {
                let local = $arg;
                let _ = local;
                $body
            }
        };
        ($name:ident) => {
            #[single_flight(key = "inner:<id>", ttl = 30)]
            async fn $name(id: u8) -> u8 {
                id
            }
        };
    }

    find!(one, "one:<id>", id: u8 => u16, Some(u16::from(id)));
    find!(two);

    struct Both;

    macro_rules! method {
        ($trait:ident, $add:expr) => {
            trait $trait {
                async fn get(&self, id: u64) -> u64;
            }
            impl $trait for Both {
                #[single_flight(key = "get:<id>", ttl = 30)]
                async fn get(&self, id: u64) -> u64 {
                    id + $add
                }
            }
        };
    }

    method!(First, 1);
    method!(Second, 2);

    #[tokio::test]
    async fn case_18_functions_and_methods_made_by_macros() {
        assert_eq!(one(1).await, Some(1));
        assert_eq!(two(1).await, 1);
        assert_eq!(First::get(&Both, 1).await, 2);
        assert_eq!(Second::get(&Both, 1).await, 3);
    }
}

mod case_18_re_exported {
    pub(crate) mod facade {
        pub(crate) use singleflight_core as inner;
    }

    #[facade::inner::single_flight(key = "facade:<id>", ttl = 30, crate = facade::inner)]
    async fn find(id: u8) -> Option<u8> {
        Some(id)
    }

    #[facade::inner::invalidates(key = "facade:<id>", crate = facade::inner)]
    async fn save(id: u8) {
        let _ = id;
    }

    #[tokio::test]
    async fn case_18_through_a_facade() {
        assert_eq!(find(1).await, Some(1));
        save(1).await;
        let id = 1;
        assert_eq!(facade::inner::key!("a:<id>", crate = facade::inner), "a:1");
    }
}
