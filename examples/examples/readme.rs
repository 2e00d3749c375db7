//! The code of the README, which quotes it; `tests/readme.rs` compares the two.

use serde::{Deserialize, Serialize};
use singleflight_core::testing::Kit;
use singleflight_core::{FlightError, SingleFlight, control, invalidates, single_flight};

type UserId = u64;
type Price = u32;

#[derive(Clone, Serialize, Deserialize)]
struct User {
    id: UserId,
}

struct Repo;

impl Repo {
    #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
    async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
        // the expensive part
        Ok(Some(User { id }))
    }

    #[single_flight(key = "price:<sku>", ttl = "10m", soft_ttl = "30s")]
    async fn price(&self, sku: &str) -> Option<Price> {
        // slow; after 30 s one caller refreshes, the others get the old price at once, for at most 10 minutes
        u32::try_from(sku.len()).ok()
    }

    #[invalidates(key = "price:<sku>")]
    async fn set_price(&mut self, sku: &str, price: Price) -> std::io::Result<()> {
        // the write; afterwards nobody sees the old price, not even from a load that was already running
        let _ = (sku, price);
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
enum RepoError {
    #[error("database: {0}")]
    Database(#[from] sqlx::Error), // not `Clone`
    #[error(transparent)]
    Flight(#[from] FlightError),
}

#[single_flight(key = "count:<table>", ttl = 5)]
async fn count(table: &str) -> Result<usize, RepoError> {
    if table.is_empty() {
        return Err(sqlx::Error::RowNotFound.into());
    }
    Ok(table.len())
}

async fn by_hand() -> Result<(), Box<dyn std::error::Error>> {
    let flights = SingleFlight::builder().jitter(false).build();

    // Without the attribute:
    let load = || async { Ok::<_, FlightError>(42) };
    let answer = flights.flight("answer").run(load).await?;

    // For one call, without touching signatures:
    let fresh = control::refresh(flights.flight("answer").run(load)).await?;
    let alone = control::bypass(flights.flight("answer").run(load)).await?;

    flights.invalidate("answer").await?;
    println!("{:?}", flights.statistics().total);

    // All annotated calls inside use this engine:
    let price = flights.scope(Repo.price("tea")).await;

    assert_eq!((answer, fresh, alone, price), (42, 42, 42, Some(3)));
    Ok(())
}

async fn tested() {
    let kit = Kit::new();
    assert_eq!(kit.scope(Repo.price("tea")).await, Some(3));
    assert_eq!(kit.scope(Repo.price("tea")).await, Some(3));
    kit.assert("price").fills(1).hits(1);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut repo = Repo;
    println!("{:?}", repo.find(1).await?.map(|user| user.id));
    println!("{:?}", repo.price("tea").await);
    repo.set_price("tea", 4).await?;
    println!("{} {:?}", count("users").await?, count("").await.err());
    tested().await;
    by_hand().await
}
