//! Functions that call themselves and others.

use singleflight_core::single_flight;

#[single_flight(key = "fib:<n>", ttl = 30)]
async fn fib(n: u64) -> u64 {
    if n < 2 { n } else { Box::pin(fib(n - 1)).await + Box::pin(fib(n - 2)).await }
}

#[single_flight(key = "outer:<id>", ttl = 30)]
async fn outer(id: u64) -> u64 {
    #[single_flight(key = "inner:<id>", ttl = 60, name = "inner")]
    async fn inner(id: u64) -> u64 {
        id + 1
    }
    inner(id).await + inner(id + 1).await
}

#[tokio::test]
async fn functions_call_themselves_and_others() {
    assert_eq!(fib(10).await, 55);
    assert_eq!(outer(1).await, 5);
}
