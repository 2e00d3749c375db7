//! What can be stored, and what counts as "there is no such thing".

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{IsOption, IsResult, Kind, copies};
use crate::backend::SharedValue;
use crate::typed::{ValueOps, WireOps};

/// What a function may return, or return in `Ok`, to have it stored. Implemented for all such types; useful as a bound
/// in generic functions.
///
/// With the attribute's option `local`, [`LocalValue`] is enough.
pub trait Value: LocalValue + Serialize + DeserializeOwned {}

/// What a function with the option `local` may return, or return in `Ok`. Implemented for all such types.
pub trait LocalValue: Clone + Send + Sync + 'static {}

impl<T: LocalValue + Serialize + DeserializeOwned> Value for T {}

impl<T: Clone + Send + Sync + 'static> LocalValue for T {}

/// A part of [`Value`]: each caller gets a copy.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given to several callers",
    label = "needs `Clone`",
    note = "derive `Clone` for it or for what it holds, or return an `Arc` of it (which needs the feature `rc` of serde)"
)]
pub trait CanClone: Clone {}

/// A part of [`Value`]: copies go to other threads and outlive the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given to callers in other threads",
    label = "needs `Send`, `Sync` and `'static`",
    note = "use owned and thread-safe parts, such as `Arc` for `Rc` and `String` for `&str`"
)]
pub trait CanCross: Send + Sync + 'static {}

/// A part of [`Value`]: copies go to other processes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to a store",
    label = "needs `Serialize` and `Deserialize`",
    note = "derive both serde traits for it or for what it holds, or write `local` in the attribute to keep the value in this process"
)]
pub trait CanTravel: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Clone> CanClone for T {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> CanCross for T {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> CanTravel for T {}

/// How values of one type are kept: made where the type's bounds are known, used where they are not, so that a bound
/// that does not hold is reported once.
#[derive(Debug)]
pub struct Store<T> {
    pub(super) pack: fn(T) -> SharedValue,
    pub(super) unpack: fn(Handed<'_>) -> Option<T>,
    pub(super) ops: fn() -> ValueOps,
}

/// A stored value on its way to a caller.
#[derive(Debug)]
pub(super) enum Handed<'a> {
    /// It stays where it is.
    Shared(&'a dyn Any),
    /// It need not, and is copied only if someone else has it too.
    Own(SharedValue),
}

copies!(Store<T>);

impl<T: CanClone + CanCross> Store<T> {
    fn new(ops: fn() -> ValueOps) -> Self {
        Self {
            pack: |value| Arc::new(value),
            unpack: |value| match value {
                Handed::Shared(value) => value.downcast_ref::<T>().cloned(),
                Handed::Own(value) => value.downcast::<T>().ok().map(Arc::unwrap_or_clone),
            },
            ops,
        }
    }
}

/// The store for a kind's values; the one place that demands what [`Value`] says.
#[must_use]
pub fn portable<K: Kind>(_: K) -> Store<K::Value>
where
    K::Value: CanClone + CanCross + CanTravel,
{
    Store::new(|| ValueOps {
        type_id: TypeId::of::<K::Value>,
        type_name: type_name::<K::Value>,
        wire: Some(WireOps {
            encode: |codec, value| match value.downcast_ref::<K::Value>() {
                Some(value) => codec.encode(value),
                None => Err(format!("the value is not a `{}`", type_name::<K::Value>()).into()),
            },
            decode: |codec, bytes| Ok(Arc::new(codec.decode::<K::Value>(bytes)?)),
        }),
    })
}

/// The store for a kind's values under `local`; the one place that demands what [`LocalValue`] says.
#[must_use]
pub fn local<K: Kind>(_: K) -> Store<K::Value>
where
    K::Value: CanClone + CanCross,
{
    Store::new(|| ValueOps { type_id: TypeId::of::<K::Value>, type_name: type_name::<K::Value>, wire: None })
}

/// Which values stand for "there is no such thing".
pub trait Negative<T>: Copy + Send + Sync {
    /// Whether this one does.
    fn is(value: &T) -> bool;
}

/// `None` does.
#[derive(Clone, Copy, Debug)]
pub struct NoneIs;

/// None does.
#[derive(Clone, Copy, Debug)]
pub struct Never;

impl<T> Negative<Option<T>> for NoneIs {
    fn is(value: &Option<T>) -> bool {
        value.is_none()
    }
}

impl<T> Negative<T> for Never {
    fn is(_: &T) -> bool {
        false
    }
}

/// Return types that can say "there is no such thing".
#[diagnostic::on_unimplemented(
    message = "`negative_ttl` has no use for `{R}`, which is never `None` nor `Ok(None)`",
    label = "neither an `Option` nor a `Result` of one",
    note = "leave `negative_ttl` out, or return `Option<..>` or `Result<Option<..>, E>`"
)]
pub trait MayBeNone<R> {}

impl<R> MayBeNone<R> for NoneIs {}

/// The one place that demands that a kind can be negative.
pub fn may_be_none<K: Kind, N: MayBeNone<K::Output>>(_: K, _: N) {}

impl<T, E> IsResult<Option<T>, E> {
    /// `Ok(None)` is negative.
    #[must_use]
    pub fn __sf_negative(self) -> NoneIs {
        NoneIs
    }
}

impl<T> IsOption<T> {
    /// `None` is negative.
    #[must_use]
    pub fn __sf_negative(self) -> NoneIs {
        NoneIs
    }
}

/// The last step: no value is negative.
pub trait NegativeNever {
    /// No value is negative.
    fn __sf_negative(self) -> Never;
}

impl<K: Kind> NegativeNever for K {
    fn __sf_negative(self) -> Never {
        Never
    }
}
