//! What is kept.

use hitbox_fn::CacheableResponse;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A value to keep.
pub trait Row: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// For titles.
    const NAME: &'static str;
    /// What a clone of it allocates.
    const ALLOCATIONS: f64;
    /// And how many bytes.
    const BYTES: f64;

    /// The one with this number.
    fn make(number: u64) -> Self;
}

/// Twenty-four bytes.
#[derive(Clone, Debug, Serialize, Deserialize, CacheableResponse)]
pub struct Small {
    id: u64,
    balance: i64,
    version: u64,
}

impl Row for Small {
    const NAME: &'static str = "24 bytes";
    const ALLOCATIONS: f64 = 0.0;
    const BYTES: f64 = 0.0;

    fn make(number: u64) -> Self {
        Self { id: number, balance: 1, version: 2 }
    }
}

/// A struct that holds a string.
#[derive(Clone, Debug, Serialize, Deserialize, CacheableResponse)]
pub struct User {
    id: u64,
    name: String,
    version: u64,
}

impl Row for User {
    const NAME: &'static str = "a struct with a `String`";
    const ALLOCATIONS: f64 = 1.0;
    const BYTES: f64 = 24.0;

    fn make(number: u64) -> Self {
        Self { id: number, name: format!("customer {number:015}"), version: 2 }
    }
}
