//! Generic functions, and functions of generic types.

use std::fmt::Display;
use std::marker::PhantomData;

use singleflight_core::{Value, single_flight};

pub trait Db {
    type Row: Value;
    const TTL: u64;
    fn get(&self, id: u64) -> Option<Self::Row>;
}

pub struct Repo<'a, D, const SHARD: usize> {
    pub db: &'a D,
}

impl<'a, D, const SHARD: usize> Repo<'a, D, SHARD>
where
    D: Db + Sync,
{
    #[single_flight(key = "row:<Self>:<id>", ttl = D::TTL)]
    pub async fn row(&self, id: u64) -> Option<D::Row> {
        self.db.get(id)
    }

    #[single_flight(key = "rows:<K>:<N>:<id>", ttl = 30)]
    pub async fn rows<K, const N: usize>(&self, id: K) -> Vec<String>
    where
        K: Display + Send,
    {
        vec![id.to_string(); N]
    }
}

#[single_flight(key = "made:<T>:<id>", ttl = 30)]
pub async fn made<T: Value + From<u8>>(id: u8) -> Option<T> {
    Some(T::from(id))
}

#[single_flight(key = "marked:<id>", ttl = 30, skip(T))]
pub async fn marked<T>(id: u8, _marker: PhantomData<T>) -> u8 {
    id
}

#[single_flight(key = "late:<a>:<b>", ttl = 30)]
pub async fn late<'a, 'b: 'a>(a: &'a str, b: &'b str) -> usize {
    a.len() + b.len()
}

fn main() {}
