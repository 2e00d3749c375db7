//! `#[invalidates]`.

use std::fmt::Display;

use singleflight_core::invalidates;

use crate::{LoadError, is_send};

struct User {
    id: u64,
    name: String,
}

#[derive(Default)]
struct Repo {
    writes: u32,
}

impl Repo {
    #[invalidates(key = "user:<user.id>")]
    async fn save(&mut self, user: User) -> Result<u32, LoadError> {
        self.writes += 1;
        if user.name.is_empty() {
            return Err(LoadError);
        }
        Ok(self.writes)
    }

    #[invalidates(key = "user:<id>", key = "users")]
    async fn delete(&self, id: u64) -> &Self {
        let _ = id;
        self
    }

    #[invalidates(key = "user:<id>")]
    async fn open<T: Display>(&self, id: T) -> impl Display + use<T> {
        id.to_string()
    }
}

#[async_trait::async_trait]
trait Save {
    async fn put(&self, id: u64) -> Result<(), LoadError>;
}

#[async_trait::async_trait]
impl Save for Repo {
    #[invalidates(key = "user:<id>")]
    async fn put(&self, id: u64) -> Result<(), LoadError> {
        if id == 0 { Err(LoadError) } else { Ok(()) }
    }
}

#[tokio::test]
async fn the_result_comes_through() {
    let mut repo = Repo::default();
    assert_eq!(is_send(repo.save(User { id: 1, name: "a".into() })).await, Ok(1));
    assert_eq!(repo.save(User { id: 1, name: String::new() }).await, Err(LoadError));
    assert_eq!(repo.delete(1).await.writes, 2);
    assert_eq!(repo.open(1).await.to_string(), "1");
    assert_eq!(Save::put(&repo, 0).await, Err(LoadError));
}
