//! How a function's error is handed to the callers that wait for one load, made from a [`FlightError`], and put in
//! words.

use std::any::{Any, type_name};
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Kind, copies};
use crate::backend::SharedValue;
use crate::error::{FlightError, clip};

/// A function's error type, not yet understood.
#[derive(Debug)]
pub struct ErrOf<E>(PhantomData<fn() -> E>);

copies!(ErrOf<E>);

impl<E> ErrOf<E> {
    /// The error type of a kind.
    #[must_use]
    pub fn of<K: Kind<Error = E>>(_: K) -> Self {
        Self(PhantomData)
    }
}

/// How an error gets to other callers in this process.
pub trait Way<E>: Copy + Send + Sync {
    /// A copy for them, if there is a way to copy it.
    fn pack(&self, error: &E) -> Option<SharedValue>;
    /// A copy of that copy.
    fn unpack(&self, error: &dyn Any) -> Option<E>;
}

/// By its own `Clone`.
#[derive(Clone, Copy, Debug)]
pub struct ByClone;

/// As a [`FlightError`] that carries its message.
#[derive(Clone, Copy, Debug)]
pub struct ByFlightError;

/// By the function in `share_error`.
#[derive(Debug)]
pub struct ByPath<E> {
    copy: fn(&E) -> E,
    pack: fn(E) -> SharedValue,
    unpack: fn(&dyn Any) -> Option<&E>,
}

/// Not at all: each caller tries in turn.
#[derive(Clone, Copy, Debug)]
pub struct Retry;

/// Not at all, which is a mistake unless the policy lets each caller try in turn; [`shareable`] says so, once.
#[derive(Clone, Copy, Debug)]
pub struct NoWay;

copies!(ByPath<E>);

impl<E: Clone + Send + Sync + 'static> Way<E> for ByClone {
    fn pack(&self, error: &E) -> Option<SharedValue> {
        Some(Arc::new(error.clone()))
    }

    fn unpack(&self, error: &dyn Any) -> Option<E> {
        error.downcast_ref::<E>().cloned()
    }
}

impl<E> Way<E> for ByPath<E> {
    fn pack(&self, error: &E) -> Option<SharedValue> {
        Some((self.pack)((self.copy)(error)))
    }

    fn unpack(&self, error: &dyn Any) -> Option<E> {
        (self.unpack)(error).map(self.copy)
    }
}

macro_rules! no_copy {
    ($($way:ty)*) => {$(
        impl<E> Way<E> for $way {
            fn pack(&self, _: &E) -> Option<SharedValue> {
                None
            }

            fn unpack(&self, _: &dyn Any) -> Option<E> {
                None
            }
        }
    )*};
}

no_copy!(ByFlightError Retry NoWay);

impl<E: Clone + Send + Sync + 'static> ErrOf<E> {
    /// First step: by `Clone`.
    #[must_use]
    pub fn __sf_way(self) -> ByClone {
        ByClone
    }
}

/// Second step: by [`FlightError`].
pub trait WayFlightError {
    /// By [`FlightError`].
    fn __sf_way(self) -> ByFlightError;
}

impl<E: From<FlightError>> WayFlightError for ErrOf<E> {
    fn __sf_way(self) -> ByFlightError {
        ByFlightError
    }
}

/// Last step.
pub trait WayNone {
    /// No way.
    fn __sf_way(self) -> NoWay;
}

impl<E> WayNone for &ErrOf<E> {
    fn __sf_way(self) -> NoWay {
        NoWay
    }
}

/// Ways that do.
#[diagnostic::on_unimplemented(
    message = "`{E}` cannot be given to the callers that wait for one load",
    label = "neither `Clone + Send + Sync + 'static` nor `From<FlightError>`",
    note = "derive `Clone` for it, or add a variant `Flight(#[from] FlightError)`, \
            or write `share_error = path` with a `fn(&E) -> E` that copies it, \
            or `errors = \"retry\"` to let each caller try in turn"
)]
pub trait Shareable<E> {}

impl<E> Shareable<E> for ByClone {}

impl<E> Shareable<E> for ByFlightError {}

/// The one place that demands a way.
#[must_use]
pub fn shareable<E, W: Shareable<E>>(_: ErrOf<E>, way: W) -> W {
    way
}

/// Ways that do, also where `RETRY` says that the policy lets each caller try in turn.
#[diagnostic::on_unimplemented(
    message = "`{E}` cannot be given to the callers that wait for one load",
    label = "neither `Clone + Send + Sync + 'static` nor `From<FlightError>`",
    note = "derive `Clone` for it, or add a variant `Flight(#[from] FlightError)`, \
            or write `share_error = path` with a `fn(&E) -> E` that copies it, \
            or `errors = \"retry\"` to let each caller try in turn"
)]
pub trait ShareableUnless<const RETRY: bool, E> {}

impl<const RETRY: bool, E> ShareableUnless<RETRY, E> for ByClone {}

impl<const RETRY: bool, E> ShareableUnless<RETRY, E> for ByFlightError {}

impl<E> ShareableUnless<true, E> for NoWay {}

/// The one place that demands a way, unless `RETRY`.
#[must_use]
pub fn shareable_unless<const RETRY: bool, E, W: ShareableUnless<RETRY, E>>(_: ErrOf<E>, way: W) -> W {
    way
}

/// What [`by_path`] demands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given to callers in other threads",
    label = "an error shared by `share_error` needs `Send`, `Sync` and `'static`",
    note = "write `errors = \"retry\"` to let each caller try in turn"
)]
pub trait ErrorCrosses: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<E: Send + Sync + 'static> ErrorCrosses for E {}

/// The way of `share_error`.
#[must_use]
pub fn by_path<E: ErrorCrosses>(_: ErrOf<E>, copy: fn(&E) -> E) -> ByPath<E> {
    ByPath { copy, pack: |error| Arc::new(error), unpack: |error| error.downcast_ref() }
}

/// Whether an error can be made from a [`FlightError`].
pub trait Make<E>: Copy + Send + Sync {
    /// Whether it can.
    const CAN: bool;
    /// The error, if it can.
    fn make(error: FlightError) -> Option<E>;
}

/// It can.
#[derive(Clone, Copy, Debug)]
pub struct CanMake;

/// It cannot.
#[derive(Clone, Copy, Debug)]
pub struct CannotMake;

impl<E: From<FlightError>> Make<E> for CanMake {
    const CAN: bool = true;

    fn make(error: FlightError) -> Option<E> {
        Some(error.into())
    }
}

impl<E> Make<E> for CannotMake {
    const CAN: bool = false;

    fn make(_: FlightError) -> Option<E> {
        None
    }
}

impl<E: From<FlightError>> ErrOf<E> {
    /// First step: it can.
    #[must_use]
    pub fn __sf_make(self) -> CanMake {
        CanMake
    }
}

/// Last step: it cannot.
pub trait MakeNot {
    /// It cannot.
    fn __sf_make(self) -> CannotMake;
}

impl<E> MakeNot for ErrOf<E> {
    fn __sf_make(self) -> CannotMake {
        CannotMake
    }
}

/// Whether callers may be told to fail, which `NEEDED` says that the policy does.
#[diagnostic::on_unimplemented(
    message = "`{R}` cannot carry a `FlightError`, and the policy may tell callers to fail",
    label = "not a `Result` whose error is `From<FlightError>`",
    note = "return a `Result` whose error has a variant `Flight(#[from] FlightError)`, or take another way than \
            `losers = \"fail\"` and `OnTimeout::Fail`"
)]
pub trait MayFail<R, const NEEDED: bool> {}

impl<R, const NEEDED: bool> MayFail<R, NEEDED> for CanMake {}

impl<R> MayFail<R, false> for CannotMake {}

/// The one place that demands that a kind can fail.
pub fn may_fail<const NEEDED: bool, K: Kind, M: MayFail<K::Output, NEEDED>>(_: K, _: M) {}

/// How an error is told to others.
pub trait Words<E>: Copy + Send + Sync {
    /// The error in words.
    fn words(error: &E) -> Arc<str>;
}

/// As it displays.
#[derive(Clone, Copy, Debug)]
pub struct DisplayWords;

/// As its `Debug` form.
#[derive(Clone, Copy, Debug)]
pub struct DebugWords;

/// By its type's name.
#[derive(Clone, Copy, Debug)]
pub struct TypeWords;

impl<E: Display> Words<E> for DisplayWords {
    fn words(error: &E) -> Arc<str> {
        clip(&error.to_string()).into()
    }
}

impl<E: Debug> Words<E> for DebugWords {
    fn words(error: &E) -> Arc<str> {
        clip(&format!("{error:?}")).into()
    }
}

impl<E> Words<E> for TypeWords {
    fn words(_: &E) -> Arc<str> {
        clip(type_name::<E>()).into()
    }
}

impl<E: Display> ErrOf<E> {
    /// First step: it displays.
    #[must_use]
    pub fn __sf_words(self) -> DisplayWords {
        DisplayWords
    }
}

/// Second step: it has a `Debug` form.
pub trait WordsDebug {
    /// It has.
    fn __sf_words(self) -> DebugWords;
}

impl<E: Debug> WordsDebug for ErrOf<E> {
    fn __sf_words(self) -> DebugWords {
        DebugWords
    }
}

/// Last step: it has a name.
pub trait WordsType {
    /// It has.
    fn __sf_words(self) -> TypeWords;
}

impl<E> WordsType for &ErrOf<E> {
    fn __sf_words(self) -> TypeWords {
        TypeWords
    }
}
