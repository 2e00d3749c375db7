//! A call of a key whose value is there: the ways to ask for it, and how they are measured.

mod attributes;
mod caches;
mod keys;
mod measure;
mod row;

use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;

use futures::future::BoxFuture;

pub use self::keys::{KIND_NAMES, Keys, Kind};
pub use self::measure::run;
pub use self::row::{Row, Small, User};

/// A way to ask for a value, and how its values got there.
#[derive(Clone)]
pub struct Way {
    /// Its name.
    pub name: &'static str,
    ask: Arc<dyn Fn(&'static [u32]) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Way {
    /// Asks by a key's number in the list of keys.
    fn new<F>(name: &'static str, ask: impl Fn(usize) -> F + Copy + Send + Sync + 'static) -> Self
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let ask = move |order: &'static [u32]| -> BoxFuture<'static, ()> {
            Box::pin(async move {
                for &key in order {
                    black_box(ask(black_box(key as usize)).await);
                }
            })
        };
        Self { name, ask: Arc::new(ask) }
    }

    /// Asks for these, one after the other.
    pub async fn ask(&self, order: &'static [u32]) {
        (self.ask)(order).await;
    }
}

/// All ways to ask for such values by such keys; what they are compared with comes first.
pub fn ways<R: Row>(kind: Kind) -> Vec<Way> {
    let keys = Keys::get();
    let mut ways = vec![caches::moka_ready::<R>(keys, kind)];
    ways.extend(attributes::ours::<R>(keys, kind));
    ways.extend(caches::all::<R>(keys, kind));
    ways.extend(attributes::theirs::<R>(keys, kind));
    ways
}
