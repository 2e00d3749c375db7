//! Methods with every receiver but `&mut self`.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use singleflight_core::{SingleFlight, single_flight};

#[derive(Clone)]
pub struct Repo {
    pub tenant: String,
    pub flights: SingleFlight,
}

impl Repo {
    #[single_flight(key = "ref:<self.tenant>", ttl = 30)]
    pub async fn by_ref(&self) -> usize {
        self.tenant.len()
    }

    #[single_flight(key = "value:<self.tenant>", ttl = 30)]
    pub async fn by_value(mut self) -> String {
        self.tenant.push('!');
        self.tenant
    }

    #[single_flight(key = "arc:<self.tenant>", ttl = 30, spawn)]
    pub async fn by_arc(self: Arc<Self>) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "arc_ref:<self.tenant>", ttl = 30)]
    pub async fn by_arc_ref(self: &Arc<Self>) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "rc:<self.tenant>", ttl = 30)]
    pub async fn by_rc(self: Rc<Self>) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "box:<self.tenant>", ttl = 30)]
    pub async fn by_box(self: Box<Self>) -> String {
        self.tenant
    }

    #[single_flight(key = "pin:<self.tenant>", ttl = 30)]
    pub async fn by_pin(self: Pin<&Self>) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "own:<self.tenant>", ttl = 30, flights = &self.flights)]
    pub async fn own_engine(&self) -> String {
        self.tenant.clone()
    }

    #[single_flight(key = "none:<id>", ttl = 30)]
    pub async fn without(id: u8) -> u8 {
        id
    }
}

fn main() {}
