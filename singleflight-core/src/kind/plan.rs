//! What the probes found out, as the engine sees it: [`Plan`].

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use super::value::Handed;
use super::{Kind, Make, Negative, Store, Way, Words};
use crate::backend::SharedValue;
use crate::error::FlightError;
use crate::typed::{Failure, Loaded, Taken, Typed, ValueOps};

/// How results of one kind are stored, shared, made and told.
pub struct Plan<K: Kind, N, W, M, D> {
    store: Store<K::Value>,
    way: W,
    answers: PhantomData<(K, N, M, D)>,
    cache_if: Option<fn(&K::Value) -> bool>,
}

impl<K: Kind, N, W: Copy, M, D> Clone for Plan<K, N, W, M, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind, N, W: Copy, M, D> Copy for Plan<K, N, W, M, D> {}

/// The plan of these answers.
#[must_use]
pub fn plan<K: Kind, N, W, M, D>(
    _: K,
    store: Store<K::Value>,
    _: N,
    way: W,
    _: M,
    _: D,
) -> Plan<K, N, W, M, D> {
    Plan { store, way, answers: PhantomData, cache_if: None }
}

impl<K: Kind, N, W, M, D> Plan<K, N, W, M, D> {
    /// Keeps only the values that `keep` says to keep.
    #[must_use]
    pub fn cache_if(mut self, keep: fn(&K::Value) -> bool) -> Self {
        self.cache_if = Some(keep);
        self
    }

    /// The function's default, as the result that it stands for.
    #[must_use]
    pub fn answer(&self, default: K::Value) -> K::Output {
        K::join(default)
    }
}

impl<K, N, W, M, D> Typed<K::Output> for Plan<K, N, W, M, D>
where
    K: Kind,
    N: Negative<K::Value>,
    W: Way<K::Error>,
    M: Make<K::Error>,
    D: Words<K::Error>,
{
    fn take(&self, result: K::Output) -> Taken<K::Output> {
        match K::split(result) {
            Ok(value) => {
                let keep = !K::hides_result() && self.cache_if.is_none_or(|keep| keep(&value));
                let negative = N::is(&value);
                Taken::Value(Loaded { value: (self.store.pack)(value), negative, keep })
            }
            Err(error) => {
                let failure = Failure { error: self.way.pack(&error), message: D::words(&error) };
                Taken::Error(K::fail(error), failure)
            }
        }
    }

    fn give(&self, value: &dyn Any) -> Option<K::Output> {
        (self.store.unpack)(Handed::Shared(value)).map(K::join)
    }

    fn hand(&self, value: SharedValue) -> Option<K::Output> {
        (self.store.unpack)(Handed::Own(value)).map(K::join)
    }

    fn share(&self, error: &dyn Any) -> Option<K::Output> {
        self.way.unpack(error).map(K::fail)
    }

    fn fail(&self, error: FlightError) -> Option<K::Output> {
        M::make(error).map(K::fail)
    }

    fn can_fail(&self) -> bool {
        M::CAN
    }

    fn value(&self) -> ValueOps {
        (self.store.ops)()
    }
}

impl<K: Kind, N, W, M, D> fmt::Debug for Plan<K, N, W, M, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store: _, way: _, answers: _, cache_if } = self;
        f.debug_struct("Plan").field("cache_if", &cache_if.is_some()).finish_non_exhaustive()
    }
}
