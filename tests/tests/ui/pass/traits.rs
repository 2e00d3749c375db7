//! Methods of traits: native, default, and boxed by `#[async_trait]`, with and without `Send`.

use std::rc::Rc;

use async_trait::async_trait;
use singleflight_core::{invalidates, single_flight};

pub struct Repo(pub u64);

#[allow(async_fn_in_trait)]
pub trait Native {
    async fn find(&self, id: u64) -> Option<u64>;

    #[single_flight(key = "twice:<Self>:<id>", ttl = 30)]
    async fn twice(&self, id: u64) -> u64 {
        id * 2
    }
}

impl Native for Repo {
    #[single_flight(key = "native:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> Option<u64> {
        Some(self.0 + id)
    }
}

#[async_trait]
pub trait Boxed: Send + Sync {
    async fn find(&self, name: &str, mut id: u64) -> Result<u64, String>;
    async fn save(&mut self, id: u64);

    #[single_flight(key = "boxed:default:<id>", ttl = 30)]
    async fn default_one(&self, id: u64) -> u64 {
        id
    }
}

#[async_trait]
impl Boxed for Repo {
    #[single_flight(key = "boxed:<self.0>:<name>:<id>", ttl = 30)]
    async fn find(&self, name: &str, mut id: u64) -> Result<u64, String> {
        id += name.parse::<u64>().map_err(|error| error.to_string())?;
        Ok(id + self.0)
    }

    #[invalidates(key = "boxed:<id>")]
    async fn save(&mut self, id: u64) {
        self.0 = id;
    }
}

#[async_trait(?Send)]
pub trait Local {
    async fn find(&self, id: u64) -> u64;
}

#[async_trait(?Send)]
impl Local for Repo {
    #[single_flight(key = "local:<id>", ttl = 30)]
    async fn find(&self, id: u64) -> u64 {
        let held = Rc::new(id);
        std::future::ready(()).await;
        *held
    }
}

fn main() {}
