//! `sf = { package = "singleflight-core" }`: there is no crate of the usual name.

use sf::{invalidates, key, single_flight};

struct Repo;

impl Repo {
    #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500, crate = sf)]
    async fn find(&self, id: u64) -> Result<Option<u64>, String> {
        Ok(Some(id))
    }

    #[invalidates(key = "user:<id>", crate = ::sf)]
    async fn save(&self, id: u64) -> u64 {
        id
    }
}

#[tokio::test]
async fn it_works_under_another_name() {
    assert_eq!(Repo.find(1).await, Ok(Some(1)));
    assert_eq!(Repo.save(1).await, 1);
    let id = 1;
    assert_eq!(key!("user:<id>", crate = sf), "user:1");
}
