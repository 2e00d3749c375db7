//! What is compared: something that answers calls by key, and loads what it does not have.

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::load::{Answer, Load};

/// A cache that loads, as its users would use it.
pub trait Peer: Send + Sync + 'static {
    /// Its name, and what is called.
    const NAME: &'static str;

    /// With nothing in it, and room for 10,000 values where it has bounds.
    fn new() -> Self;

    /// The value of a key, loaded if need be.
    fn get(&self, key: u64, load: Load) -> impl Future<Output = Answer> + Send;

    /// Forgets the value of a key.
    fn remove(&self, key: u64) -> impl Future<Output = ()> + Send;
}

/// The same, for lists of them.
pub trait AnyPeer: Send + Sync {
    /// See [`Peer::get`].
    fn get(self: Arc<Self>, key: u64, load: Load) -> BoxFuture<'static, Answer>;

    /// See [`Peer::remove`].
    fn remove(self: Arc<Self>, key: u64) -> BoxFuture<'static, ()>;
}

impl<P: Peer> AnyPeer for P {
    fn get(self: Arc<Self>, key: u64, load: Load) -> BoxFuture<'static, Answer> {
        Box::pin(async move { Peer::get(&*self, key, load).await })
    }

    fn remove(self: Arc<Self>, key: u64) -> BoxFuture<'static, ()> {
        Box::pin(async move { Peer::remove(&*self, key).await })
    }
}

/// A peer that is yet to be made.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// Its name.
    pub name: &'static str,
    /// Makes it.
    pub make: fn() -> Arc<dyn AnyPeer>,
}

impl Candidate {
    /// This one.
    pub fn of<P: Peer>() -> Self {
        Self { name: P::NAME, make: || Arc::new(P::new()) }
    }
}
