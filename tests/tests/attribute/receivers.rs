//! Methods, whatever their receiver.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use singleflight_core::{SingleFlight, single_flight};

use crate::is_send;

#[derive(Clone)]
struct Repo {
    tenant: String,
    flights: SingleFlight,
}

impl Repo {
    const TTL: u64 = 30;
    const LEASE: Duration = Duration::from_millis(200);

    fn helper(&self) -> &str {
        &self.tenant
    }

    #[single_flight(key = "name:<self.tenant>:<id>", ttl = Self::TTL, lock_ttl_ms = Self::LEASE)]
    async fn by_ref(&self, id: &str) -> Option<String> {
        let full = move || format!("{}/{id}", self.helper());
        Some(full())
    }

    #[single_flight(key = "value:<self.tenant>:<id>", ttl = 30)]
    async fn by_value(self, id: u8) -> String {
        self.tenant + &id.to_string()
    }

    #[single_flight(key = "mut:<self.tenant>", ttl = 30)]
    async fn by_mut_value(mut self) -> String {
        self.tenant.push('!');
        self.tenant
    }

    #[single_flight(key = "arc:<self.tenant>:<id>", ttl = 30)]
    async fn by_arc(self: Arc<Self>, id: u8) -> String {
        format!("{}{id}", self.tenant)
    }

    #[single_flight(key = "box:<self.tenant>", ttl = 30)]
    async fn by_box(self: Box<Self>) -> String {
        self.tenant
    }

    #[single_flight(key = "pin:<self.tenant>", ttl = 30)]
    async fn by_pin(self: Pin<&Self>) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "own:<self.tenant>", ttl = 30, flights = &self.flights)]
    async fn own_engine(&self) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "own_arc:<self.tenant>", ttl = 30, flights = &self.flights.clone())]
    async fn own_engine_moved(self: Arc<Self>) -> String {
        Arc::unwrap_or_clone(self).tenant
    }

    #[single_flight(key = "associated:<id>", ttl = 30)]
    async fn associated(id: u8) -> u8 {
        id
    }
}

#[tokio::test]
async fn of_every_kind_work() {
    let repo = Repo { tenant: "a".into(), flights: SingleFlight::in_memory() };
    assert_eq!(is_send(repo.by_ref("x")).await.as_deref(), Some("a/x"));
    assert_eq!(is_send(repo.clone().by_value(1)).await, "a1");
    assert_eq!(repo.clone().by_mut_value().await, "a!");
    assert_eq!(is_send(Arc::new(repo.clone()).by_arc(1)).await, "a1");
    assert_eq!(Box::new(repo.clone()).by_box().await, "a");
    assert_eq!(Pin::new(&repo).by_pin().await, "a");
    assert_eq!(is_send(repo.own_engine()).await, "a");
    assert_eq!(Arc::new(repo).own_engine_moved().await, "a");
    assert_eq!(Repo::associated(3).await, 3);
}
