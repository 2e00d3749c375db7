//! Generic functions, and functions of generic types.

use std::fmt::Display;
use std::time::Duration;

use singleflight_core::{Value, single_flight};

use crate::{LoadError, is_send};

trait Db {
    type Row: Value;
    type Error: Clone + Send + Sync + 'static;
    const TTL: Duration;
    fn get(&self, id: u64) -> Result<Self::Row, Self::Error>;
}

struct Users;

impl Db for Users {
    type Row = String;
    type Error = LoadError;
    const TTL: Duration = Duration::from_secs(5);
    fn get(&self, id: u64) -> Result<String, LoadError> {
        if id == 0 { Err(LoadError) } else { Ok(format!("user {id}")) }
    }
}

struct Repo<'a, D, const SHARD: usize> {
    db: &'a D,
}

impl<'a, D, const SHARD: usize> Repo<'a, D, SHARD>
where
    D: Db + Sync,
{
    #[single_flight(key = "row:<Self>:<id>", ttl = D::TTL)]
    async fn row(&self, id: u64) -> Result<D::Row, D::Error> {
        self.db.get(id)
    }

    #[single_flight(key = "rows:<K>:<N>:<id>", ttl = 30)]
    async fn rows<K, const N: usize>(&self, id: K) -> Result<[u8; 4], D::Error>
    where
        K: Into<u64> + Display + Send,
    {
        let id: u64 = id.into();
        self.db.get(id).map(|_| [N as u8, SHARD as u8, id as u8, 0])
    }
}

struct Long<Db>(Db);

impl<Db: self::Db + Sync> Long<Db> {
    #[single_flight(key = "long:<id>", ttl = Db::TTL, soft_ttl = <Db as self::Db>::TTL)]
    async fn row(&self, id: u64) -> Result<Db::Row, Db::Error> {
        self.0.get(id)
    }
}

#[single_flight(key = "load:<T>:<id>", ttl = 30)]
async fn load<T>(id: u64) -> Option<T>
where
    T: Value + From<u8>,
{
    u8::try_from(id).ok().map(T::from)
}

#[single_flight(key = "marker:<id>", ttl = 30, skip(T))]
async fn marker<T>(id: u64) -> u64 {
    id + (std::mem::align_of::<T>() as u64).min(1)
}

#[tokio::test]
async fn keep_their_types_apart() {
    let repo = Repo::<_, 7> { db: &Users };
    assert_eq!(is_send(repo.row(1)).await, Ok("user 1".into()));
    assert_eq!(repo.row(0).await, Err(LoadError));
    assert_eq!(is_send(Long(Users).row(1)).await, Ok("user 1".into()));
    assert_eq!(is_send(repo.rows::<u8, 3>(9)).await, Ok([3, 7, 9, 0]));
    assert_eq!(repo.rows::<u32, 4>(9).await, Ok([4, 7, 9, 0]));
    assert_eq!(load::<u8>(1).await, Some(1));
    assert_eq!(load::<u64>(1).await, Some(1));
    assert_eq!(marker::<String>(1).await, 2);
}
