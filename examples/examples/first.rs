//! The first program of the README, which quotes it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use singleflight_core::{FlightError, single_flight};
use tokio::task::JoinSet;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct User {
    id: u64,
    name: String,
}

#[derive(Debug, thiserror::Error)]
enum RepoError {
    #[error("the database: {0}")]
    Database(#[from] std::io::Error), // or sqlx::Error, …
    #[error(transparent)]
    Flight(#[from] FlightError), // for those who waited for a load that failed
}

struct Users;

impl Users {
    #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
    async fn find(&self, id: u64) -> Result<Option<User>, RepoError> {
        println!("the database is asked for user {id}");
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(Some(User { id, name: "Ada".to_owned() }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // In memory, unless SINGLEFLIGHT_BACKEND names a server.
    singleflight_redis::from_env().await?.install()?;

    let users = Arc::new(Users);
    let mut herd = JoinSet::new();
    for _ in 0..200 {
        let users = users.clone();
        herd.spawn(async move { users.find(7).await });
    }
    let found = herd.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;
    println!("{} callers have {:?}", found.len(), found[0]);
    Ok(())
}
