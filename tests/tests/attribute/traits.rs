//! Methods of traits.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use singleflight_core::single_flight;

use crate::{LoadError, is_send};

trait Find {
    fn base(&self) -> u64;

    async fn find(&self, id: u64) -> Option<u64>;

    #[single_flight(key = "twice:<Self>:<id>", ttl = 30)]
    async fn twice(&self, id: u64) -> u64 {
        self.base() + id * 2
    }
}

struct A;
struct B;

impl Find for A {
    fn base(&self) -> u64 {
        100
    }

    #[single_flight(key = "find:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> Option<u64> {
        Some(self.base() + id)
    }
}

impl Find for B {
    fn base(&self) -> u64 {
        200
    }

    #[single_flight(key = "find:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> Option<u64> {
        Some(self.base() + id)
    }
}

#[tokio::test]
async fn native_ones_work() {
    assert_eq!(A.find(1).await, Some(101));
    assert_eq!(B.find(1).await, Some(201));
    assert_eq!(A.twice(1).await, 102);
    assert_eq!(B.twice(1).await, 202);
}

#[async_trait::async_trait]
trait Boxed: Send + Sync {
    async fn find(&self, name: &str, mut id: u64, extra: Option<u64>) -> Result<u64, LoadError>;
    async fn plain(&self) -> u8;
    async fn ignoring(&self, id: u64, other: (u8, u8), borrowed: &(u8, u8)) -> u8;

    #[single_flight(key = "boxed:default:<id>", ttl = 30)]
    async fn default_one(&self, id: u64) -> u64 {
        id + u64::from(self.plain().await)
    }
}

struct Repo {
    tenant: u64,
}

#[async_trait::async_trait]
impl Boxed for Repo {
    #[single_flight(key = "boxed:<self.tenant>:<name>:<id>:<extra>", ttl = 30, losers = "default", default = self.tenant)]
    async fn find(&self, name: &str, mut id: u64, extra: Option<u64>) -> Result<u64, LoadError> {
        id += name.len() as u64;
        if id == 1 {
            return Err(LoadError);
        }
        let doubled = std::convert::identity::<Result<u64, LoadError>>(Ok(id * 2))?;
        Ok(doubled + self.tenant + extra.unwrap_or_default())
    }

    #[single_flight(key = "boxed:ignoring:<id>:<a>:<b>", ttl = 30)]
    async fn ignoring(&self, id: u64, _: (u8, u8), &(a, b): &(u8, u8)) -> u8 {
        let _ = id;
        a + b
    }

    #[single_flight(key = "boxed:plain", ttl = 30)]
    async fn plain(&self) -> u8 {
        5
    }
}

#[async_trait::async_trait(?Send)]
trait Local {
    async fn find(&self, id: u64) -> u64;
}

#[async_trait::async_trait(?Send)]
impl Local for Repo {
    #[single_flight(key = "local:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> u64 {
        let held = Rc::new(id);
        tokio::task::yield_now().await;
        *held + self.tenant
    }
}

#[tokio::test]
async fn boxed_ones_work() {
    let repo: Arc<dyn Boxed> = Arc::new(Repo { tenant: 1000 });
    assert_eq!(is_send(repo.find("ab", 2, Some(1))).await, Ok(1009));
    assert_eq!(repo.find("", 1, None).await, Err(LoadError));
    assert_eq!(repo.plain().await, 5);
    assert_eq!(repo.ignoring(1, (1, 2), &(3, 4)).await, 7);
    assert_eq!(repo.default_one(1).await, 6);
    assert_eq!(Local::find(&Repo { tenant: 1 }, 1).await, 2);
}

/// What `#[async_trait]` writes, written by hand.
#[single_flight(key = "by_hand:<id>", ttl = 30)]
fn by_hand<'a>(id: &'a str) -> Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>> {
    Box::pin(async move { Some(id.to_owned()) })
}

#[tokio::test]
async fn a_boxed_future_by_hand() {
    assert_eq!(is_send(by_hand("x")).await.as_deref(), Some("x"));
}
