//! The attribute on every shape of function.

use singleflight_core::single_flight;

#[derive(Clone, Debug, PartialEq)]
struct LoadError;

#[single_flight(key = "double:<id>", ttl = 30, lock_ttl_ms = 1500)]
async fn double(id: u64) -> Result<u64, LoadError> {
    Ok(id * 2)
}

struct Repo {
    tenant: String,
}

impl Repo {
    #[single_flight(key = "name:<self.tenant>:<id>", ttl = "5m", lock_ttl_ms = "auto")]
    async fn name(&self, id: &str) -> Option<String> {
        Some(format!("{}/{id}", self.tenant))
    }
}

#[tokio::test]
async fn a_free_function() {
    assert_eq!(double(4).await, Ok(8));
}

#[tokio::test]
async fn a_method() {
    let repo = Repo { tenant: "a".into() };
    assert_eq!(repo.name("x").await.as_deref(), Some("a/x"));
}
