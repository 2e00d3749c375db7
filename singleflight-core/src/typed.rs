//! The seam between typed functions and the engine, which handles their results without knowing their types.
//!
//! A function's result type `R` is described once by a [`Typed`] of its own, behind a `dyn`, so that the engine is
//! compiled once and not per function.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::backend::SharedValue;
use crate::codec::{Codec, CodecError};
use crate::error::FlightError;

/// How the engine takes results of type `R` apart and puts them together.
pub trait Typed<R>: Send + Sync {
    /// Takes a body's result apart.
    fn take(&self, result: R) -> Taken<R>;
    /// The result that a stored value stands for; `None` if the value is of another type.
    fn give(&self, value: &dyn Any) -> Option<R>;
    /// The same, of a value that need not be left to others: copied only if someone else has it too.
    fn hand(&self, value: SharedValue) -> Option<R>;
    /// The result that a shared error stands for; `None` if the error is of another type or `R` has no way to share.
    fn share(&self, error: &dyn Any) -> Option<R>;
    /// The result that a [`FlightError`] stands for; `None` if `R` cannot carry one.
    fn fail(&self, error: FlightError) -> Option<R>;
    /// Whether [`fail`](Self::fail) answers.
    fn can_fail(&self) -> bool;
    /// What the engine knows of the stored type.
    fn value(&self) -> ValueOps;
}

/// What the engine knows of the stored type.
#[derive(Clone, Copy, Debug)]
pub struct ValueOps {
    pub(crate) type_id: fn() -> TypeId,
    pub(crate) type_name: fn() -> &'static str,
    /// How the value is written and read; `None` keeps it in this process.
    pub(crate) wire: Option<WireOps>,
}

/// How values of one type are written and read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireOps {
    pub(crate) encode: fn(Codec, &dyn Any) -> Result<Bytes, CodecError>,
    pub(crate) decode: fn(Codec, &[u8]) -> Result<SharedValue, CodecError>,
}

/// A body's result, taken apart.
pub enum Taken<R> {
    /// There is a value.
    Value(Loaded),
    /// There is none: the result for the leader's own caller, and what the others may be told.
    Error(R, Failure),
}

/// A value that was loaded.
pub struct Loaded {
    pub(crate) value: SharedValue,
    /// Whether it stands for "there is no such thing" (`None`, `Ok(None)`), which has a TTL of its own.
    pub(crate) negative: bool,
    /// Whether it is to be stored.
    pub(crate) keep: bool,
}

/// What the others are told of a failed load.
#[derive(Clone)]
pub struct Failure {
    /// A copy of the error, where there is a way to copy it.
    pub(crate) error: Option<SharedValue>,
    /// The error in words.
    pub(crate) message: Arc<str>,
}

impl<R> fmt::Debug for Taken<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(loaded) => f.debug_tuple("Value").field(loaded).finish(),
            Self::Error(_, failure) => f.debug_tuple("Error").field(failure).finish(),
        }
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("negative", &self.negative)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failure").field(&self.message).finish()
    }
}
