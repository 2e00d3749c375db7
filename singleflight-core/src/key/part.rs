//! How the value of a placeholder is written.
//!
//! The attribute writes `part(&value).__sf_put(key, stop)`, and method lookup picks the first of
//!
//! 1. the inherent method, for types that are [`KeyPart`] (no formatting machinery; floats are refused here),
//! 2. [`PutOption`], for an Option of something that displays,
//! 3. [`PutDisplay`], for what displays; its bound is on the method, so that a type that fits nowhere ends here and is
//!    refused in words of ours.

use std::borrow::Cow;
use std::fmt::{Debug, Display};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

use super::KeyBuf;

/// A value in a key.
#[derive(Debug)]
pub struct Part<'a, T: ?Sized>(&'a T);

/// The part that a value is. A projection, so that a mistake in the value's expression is not reported twice: where
/// `Self` is an error, so is `Part`, and compilers look up no methods on errors.
pub trait PartOf {
    /// The part.
    type Part<'a>
    where
        Self: 'a;

    /// The part that this value is.
    fn part(&self) -> Self::Part<'_>;
}

impl<T: ?Sized> PartOf for T {
    type Part<'a>
        = Part<'a, T>
    where
        T: 'a;

    #[inline]
    fn part(&self) -> Part<'_, T> {
        Part(self)
    }
}

/// The part that a value is.
#[inline]
pub fn part<T: ?Sized>(value: &T) -> <T as PartOf>::Part<'_> {
    value.part()
}

/// What can be written into a key by its `Debug`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key by its `Debug` form",
    label = "does not implement `Debug`",
    note = "derive `Debug` for it, or name a part of it, as in `<name.field>` or `<name.method()>`"
)]
pub trait DebugPart: Debug {}

#[diagnostic::do_not_recommend]
impl<T: Debug + ?Sized> DebugPart for T {}

/// Appends a value's `Debug` form.
pub fn put_debug<T: DebugPart + ?Sized>(key: &mut KeyBuf, value: &T, stop: char) {
    key.debug(value, stop);
}

impl<'a, T: ?Sized> Part<'a, T> {
    /// The value.
    pub(crate) fn value(self) -> &'a T {
        self.0
    }
}

impl<T: ?Sized> Clone for Part<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Part<'_, T> {}

/// Types written without formatting, or in a form of their own.
pub trait KeyPart {
    /// Appends the value; `stop` is the first character of the text that follows.
    fn put(&self, key: &mut KeyBuf, stop: char);
}

impl<T: KeyPart + ?Sized> Part<'_, T> {
    /// Appends the value.
    #[inline]
    pub fn __sf_put(self, key: &mut KeyBuf, stop: char)
    where
        T: ExactPart,
    {
        self.0.put(key, stop);
    }
}

/// Options of what displays.
pub trait PutOption {
    /// Appends the value.
    fn __sf_put(self, key: &mut KeyBuf, stop: char);
}

impl<T: Display> PutOption for Part<'_, Option<T>> {
    fn __sf_put(self, key: &mut KeyBuf, stop: char) {
        key.option(self.0.as_ref(), |key, value| key.display(value, stop));
    }
}

/// What displays.
pub trait PutDisplay {
    /// The value's type.
    type Value: ?Sized;
    /// Appends the value.
    fn __sf_put(self, key: &mut KeyBuf, stop: char)
    where
        Self::Value: DisplayPart;
}

impl<T: ?Sized> PutDisplay for &Part<'_, T> {
    type Value = T;

    fn __sf_put(self, key: &mut KeyBuf, stop: char)
    where
        T: DisplayPart,
    {
        self.0.put_display(key, stop);
    }
}

/// What can be written into a key by its `Display`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "does not implement `Display`",
    note = "name a part of it that does, as in `<name.field>` or `<name.method()>`, or write its `Debug` form with `<name:?>`"
)]
pub trait DisplayPart {
    /// Appends the value.
    fn put_display(&self, key: &mut KeyBuf, stop: char);
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> DisplayPart for T {
    fn put_display(&self, key: &mut KeyBuf, stop: char) {
        key.display(self, stop);
    }
}

/// What compares as it displays; no float does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a float, which cannot be part of a key",
    label = "its values may be equal and print differently",
    note = "write its bits, `<name.to_bits()>`, or round it to an integer and name that"
)]
pub trait ExactPart {}

/// Floats are found at the first step, so that they are refused there: also those whose type is still open, as that of
/// `let x = 0.5`.
macro_rules! floats {
    ($($float:ty),*) => {$(
        impl KeyPart for $float {
            fn put(&self, key: &mut KeyBuf, stop: char) {
                key.display(self, stop);
            }
        }
    )*};
}

floats!(f32, f64);

macro_rules! exact {
    ($($type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl ExactPart for $type {}
    )*};
}

exact!(str, String, char, bool, [u8], Vec<u8>, Bytes);

impl<const N: usize> ExactPart for [u8; N] {}

impl<T: ExactPart> ExactPart for Option<T> {}

impl<T: ExactPart + ToOwned + ?Sized> ExactPart for Cow<'_, T> {}

macro_rules! integers {
    ($($int:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl ExactPart for $int {}

        #[diagnostic::do_not_recommend]
        impl ExactPart for NonZero<$int> {}

        impl KeyPart for $int {
            #[inline]
            fn put(&self, key: &mut KeyBuf, stop: char) {
                let mut digits = itoa::Buffer::new();
                let digits = digits.format(*self);
                if stop.is_ascii_digit() || stop == '-' {
                    key.value(digits, stop);
                } else {
                    key.text(digits);
                }
            }
        }

        impl KeyPart for NonZero<$int> {
            #[inline]
            fn put(&self, key: &mut KeyBuf, stop: char) {
                self.get().put(key, stop);
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl KeyPart for str {
    #[inline]
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.value(self, stop);
    }
}

impl KeyPart for String {
    #[inline]
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.value(self, stop);
    }
}

impl KeyPart for char {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.value(self.encode_utf8(&mut [0; 4]), stop);
    }
}

impl KeyPart for bool {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.value(if *self { "true" } else { "false" }, stop);
    }
}

impl KeyPart for [u8] {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.bytes(self, stop);
    }
}

impl<const N: usize> KeyPart for [u8; N] {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.bytes(self, stop);
    }
}

impl KeyPart for Vec<u8> {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.bytes(self, stop);
    }
}

impl KeyPart for Bytes {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.bytes(self, stop);
    }
}

impl<T: KeyPart> KeyPart for Option<T> {
    fn put(&self, key: &mut KeyBuf, stop: char) {
        key.option(self.as_ref(), |key, value| value.put(key, stop));
    }
}

impl<T: KeyPart + ToOwned + ?Sized> KeyPart for Cow<'_, T> {
    #[inline]
    fn put(&self, key: &mut KeyBuf, stop: char) {
        T::put(self, key, stop);
    }
}

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<T: ExactPart + ?Sized> ExactPart for $pointer {}

        impl<T: KeyPart + ?Sized> KeyPart for $pointer {
            #[inline]
            fn put(&self, key: &mut KeyBuf, stop: char) {
                T::put(self, key, stop);
            }
        }
    )*};
}

pointers!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);
