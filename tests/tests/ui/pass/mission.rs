//! The first line of the README.

use singleflight_core::single_flight;

#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub struct User {
    pub id: u64,
}

#[derive(Clone, Debug)]
pub struct RepoError;

#[derive(Clone, Copy)]
pub struct UserId(u64);

impl std::fmt::Display for UserId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

pub struct Repo;

impl Repo {
    #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
    pub async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
        Ok(Some(User { id: id.0 }))
    }
}

fn main() {}
