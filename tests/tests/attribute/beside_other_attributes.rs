//! Other attributes above and below.

use singleflight_core::single_flight;

use crate::{LoadError, is_send};

#[tracing::instrument]
#[single_flight(key = "traced:above:<id>", ttl = 30)]
async fn above(id: u8) -> Option<u8> {
    Some(id)
}

#[single_flight(key = "traced:below:<id>", ttl = 30)]
#[tracing::instrument(level = "debug", skip(id))]
async fn below(id: u8) -> Result<u8, LoadError> {
    if id == 0 {
        return Err(LoadError);
    }
    Ok(id)
}

#[async_trait::async_trait]
trait Traced {
    async fn above(&self, id: u8) -> Option<u8>;
    async fn below(&self, id: u8) -> Option<u8>;
}

#[async_trait::async_trait]
impl Traced for () {
    #[tracing::instrument(skip(self))]
    #[single_flight(key = "traced:boxed:above:<id>", ttl = 30)]
    async fn above(&self, id: u8) -> Option<u8> {
        Some(id)
    }

    #[single_flight(key = "traced:boxed:below:<id>", ttl = 30)]
    #[tracing::instrument(skip(self))]
    async fn below(&self, id: u8) -> Option<u8> {
        Some(id)
    }
}

/// Documented.
#[single_flight(key = "attributes:<id>", ttl = 30)]
#[must_use]
#[cfg(not(any()))]
#[expect(clippy::mixed_attributes_style, reason = "attributes are what is tested")]
async fn many(id: u8) -> u8 {
    #![expect(unused_variables, reason = "an inner attribute")]
    let unused = 1;
    return id;
}

#[single_flight(key = "gone", ttl = 30)]
#[cfg(any())]
async fn gone() -> NoSuchType {}

#[tokio::test]
async fn it_works() {
    assert_eq!(is_send(above(1)).await, Some(1));
    assert_eq!(is_send(below(1)).await, Ok(1));
    assert_eq!(Traced::above(&(), 1).await, Some(1));
    assert_eq!(Traced::below(&(), 1).await, Some(1));
    assert_eq!(many(1).await, 1);
}
