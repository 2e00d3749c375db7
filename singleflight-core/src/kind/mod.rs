//! What a function returns, found out by method lookup: whether it is a Result or an Option (through any alias), how
//! its error can be handed to several callers, and what of its value can be stored.
//!
//! Lookup prefers an inherent method to a trait's, and a trait's method that takes the receiver by value to one that
//! needs a reference. Each question is a method of one name at these steps; the answers are types without fields, so
//! that a [`Plan`] costs nothing at run time. Only the attribute's output asks.

mod errors;
mod plan;
#[cfg(test)]
mod tests;
mod value;

use std::convert::Infallible;
use std::marker::PhantomData;

pub(crate) use errors::{ByClone, ByFlightError, CanMake, DisplayWords};
pub use errors::{
    ErrOf, MakeNot, Retry, WayFlightError, WayNone, WordsDebug, WordsType, by_path, may_fail, shareable,
    shareable_unless,
};
use errors::{Make, Way, Words};
pub use plan::{Plan, plan};
pub(crate) use value::Never;
pub use value::{LocalValue, NegativeNever, Value, local, portable};
use value::{Negative, Store};

/// A function's return type, not yet understood.
#[derive(Debug)]
pub struct Of<R>(PhantomData<fn() -> R>);

/// A kind of return type: how results come apart.
pub trait Kind: Copy + Send + Sync {
    /// The return type.
    type Output;
    /// What is stored.
    type Value;
    /// What is never stored.
    type Error;
    /// Whether the type, whatever it looked like, is a Result after all.
    fn hides_result() -> bool;
    /// Takes a result apart.
    fn split(output: Self::Output) -> Result<Self::Value, Self::Error>;
    /// The result with this value.
    fn join(value: Self::Value) -> Self::Output;
    /// The result with this error.
    fn fail(error: Self::Error) -> Self::Output;
}

/// A Result.
#[derive(Debug)]
pub struct IsResult<T, E>(PhantomData<fn() -> (T, E)>);

/// An Option, stored whole: `None` is a value too.
#[derive(Debug)]
pub struct IsOption<T>(PhantomData<fn() -> T>);

/// Anything else.
#[derive(Debug)]
pub struct IsPlain<T>(PhantomData<fn() -> T>);

macro_rules! copies {
    ($($name:ident<$($param:ident),*>)*) => {$(
        impl<$($param),*> Clone for $name<$($param),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($param),*> Copy for $name<$($param),*> {}
    )*};
}
use copies;

copies!(Of<R> IsResult<T, E> IsOption<T> IsPlain<T>);

impl<R> Of<R> {
    /// The question.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R> Default for Of<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, E> IsResult<T, E> {
    /// The kind of a return type that is known.
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T, E> Of<Result<T, E>> {
    /// It is a Result.
    #[must_use]
    pub fn __sf_kind(self) -> IsResult<T, E> {
        IsResult(PhantomData)
    }
}

impl<T> Of<Option<T>> {
    /// It is an Option.
    #[must_use]
    pub fn __sf_kind(self) -> IsOption<T> {
        IsOption(PhantomData)
    }
}

/// The last step: neither a Result nor an Option.
pub trait KindPlain {
    /// The type.
    type Plain;
    /// It is neither.
    fn __sf_kind(self) -> IsPlain<Self::Plain>;
}

impl<T> KindPlain for Of<T> {
    type Plain = T;

    fn __sf_kind(self) -> IsPlain<T> {
        IsPlain(PhantomData)
    }
}

impl<T, E> Kind for IsResult<T, E> {
    type Output = Result<T, E>;
    type Value = T;
    type Error = E;

    fn hides_result() -> bool {
        false
    }

    fn split(output: Result<T, E>) -> Result<T, E> {
        output
    }

    fn join(value: T) -> Result<T, E> {
        Ok(value)
    }

    fn fail(error: E) -> Result<T, E> {
        Err(error)
    }
}

impl<T> Kind for IsOption<T> {
    type Output = Option<T>;
    type Value = Option<T>;
    type Error = Infallible;

    fn hides_result() -> bool {
        false
    }

    fn split(output: Option<T>) -> Result<Option<T>, Infallible> {
        Ok(output)
    }

    fn join(value: Option<T>) -> Option<T> {
        value
    }

    fn fail(error: Infallible) -> Option<T> {
        match error {}
    }
}

impl<T> Kind for IsPlain<T> {
    type Output = T;
    type Value = T;
    type Error = Infallible;

    fn hides_result() -> bool {
        std::any::type_name::<T>().starts_with("core::result::Result<")
    }

    fn split(output: T) -> Result<T, Infallible> {
        Ok(output)
    }

    fn join(value: T) -> T {
        value
    }

    fn fail(error: Infallible) -> T {
        match error {}
    }
}
