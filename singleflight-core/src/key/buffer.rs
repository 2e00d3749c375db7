//! Where keys are rendered: [`KeyBuf`], and the owned [`Key`].

use std::borrow::Borrow;
use std::fmt::{self, Write as _};
use std::ops::Deref;

use arrayvec::ArrayString;

/// The longest key, in bytes. Longer ones are cut and end in `%h` and the SHA-256 of the whole.
pub const MAX_KEY: usize = 512;

/// Keys up to this length stay on the stack.
const INLINE: usize = 128;

/// How much of a long key stays readable, in bytes.
const KEPT: usize = 256;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Bytes that may need encoding wherever they stand. 0xC2 begins the control characters U+0080 to U+009F.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'%' as usize] = true;
    table[b'{' as usize] = true;
    table[b'}' as usize] = true;
    table[0x7f] = true;
    table[0xc2] = true;
    table
};

/// A key while it is being rendered: on the stack as long as it is short.
#[derive(Clone, Default)]
pub struct KeyBuf {
    inline: ArrayString<INLINE>,
    /// The whole key once it has outgrown `inline`; empty before.
    heap: String,
}

impl KeyBuf {
    /// An empty key.
    #[must_use]
    pub fn new() -> Self {
        Self { inline: ArrayString::new(), heap: String::new() }
    }

    /// What has been rendered so far.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        if self.heap.is_empty() { &self.inline } else { &self.heap }
    }

    /// Appends text of the template, as it is.
    #[inline]
    pub fn text(&mut self, text: &str) {
        if !self.heap.is_empty() || self.inline.try_push_str(text).is_err() {
            self.spill(text);
        }
    }

    /// Appends a value's text, encoded. `stop` is the first character of the template's text that follows, or NUL at
    /// its end.
    #[inline]
    pub fn value(&mut self, value: &str, stop: char) {
        let mut utf8 = [0; 4];
        stop.encode_utf8(&mut utf8);
        if value.bytes().all(|byte| !SPECIAL[usize::from(byte)] && byte != utf8[0]) {
            self.text(value);
        } else {
            self.encode(value, stop);
        }
    }

    /// Appends what a value displays as, encoded.
    ///
    /// # Panics
    /// If the value's `Display` says that it failed, as `to_string` does: half a key would be another value's.
    pub(crate) fn display(&mut self, value: impl fmt::Display, stop: char) {
        let written = write!(Encoded { key: self, stop }, "{value}");
        assert!(written.is_ok(), "a `Display` implementation failed while a key was being rendered");
    }

    /// Appends a value's `Debug` form, encoded.
    ///
    /// # Panics
    /// If the value's `Debug` says that it failed.
    pub(crate) fn debug(&mut self, value: impl fmt::Debug, stop: char) {
        let written = write!(Encoded { key: self, stop }, "{value:?}");
        assert!(written.is_ok(), "a `Debug` implementation failed while a key was being rendered");
    }

    /// Appends the name of a type, encoded.
    ///
    /// # Panics
    /// If it is, or has among its arguments, a closure's: the compiler calls every closure of a function alike, so the key
    /// would be another value's.
    pub fn type_name<T: ?Sized>(&mut self, stop: char) {
        let name = std::any::type_name::<T>();
        assert!(
            !crate::identity::is_nameless(name),
            "`{name}` has no name of its own to put in a key; give the key something else that tells its values apart"
        );
        self.value(name, stop);
    }

    /// Appends bytes, encoded.
    pub(crate) fn bytes(&mut self, bytes: &[u8], stop: char) {
        for &byte in bytes {
            if byte.is_ascii() && !SPECIAL[usize::from(byte)] && char::from(byte) != stop {
                self.text(char::from(byte).encode_utf8(&mut [0; 4]));
            } else {
                self.percent(byte);
            }
        }
    }

    /// Appends an Option: `put` appends what is in it.
    pub(crate) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        let Some(inner) = value else {
            return self.text("%n");
        };
        let start = self.as_str().len();
        put(self, inner);
        let rendered = &self.as_str()[start..];
        if rendered.starts_with("%n") || rendered.starts_with("%s") {
            let nested = rendered.to_owned();
            self.truncate(start);
            self.text("%s");
            self.text(&nested);
        }
    }

    /// Shortens a key that is too long. Called once, when everything has been appended.
    #[inline]
    pub fn finish(&mut self) {
        if self.heap.len() > MAX_KEY {
            self.shorten();
        }
    }

    /// The key, owned.
    #[must_use]
    pub fn into_key(self) -> Key {
        Key(if self.heap.is_empty() { self.inline.as_str().into() } else { self.heap.into() })
    }

    fn truncate(&mut self, len: usize) {
        if self.heap.is_empty() {
            self.inline.truncate(len);
        } else {
            self.heap.truncate(len);
            if len == 0 {
                // An empty heap means that `inline` holds the key.
                self.inline.clear();
            }
        }
    }

    #[cold]
    fn spill(&mut self, text: &str) {
        if self.heap.is_empty() {
            self.heap.reserve(2 * INLINE + text.len());
            self.heap.push_str(&self.inline);
        }
        self.heap.push_str(text);
    }

    #[cold]
    fn encode(&mut self, value: &str, stop: char) {
        let mut clean = 0;
        for (at, c) in value.char_indices() {
            if c == stop || matches!(c, '%' | '{' | '}') || c.is_control() {
                self.text(&value[clean..at]);
                clean = at + c.len_utf8();
                value[at..clean].bytes().for_each(|byte| self.percent(byte));
            }
        }
        self.text(&value[clean..]);
    }

    fn percent(&mut self, byte: u8) {
        let digit = |nibble: u8| char::from(HEX[usize::from(nibble & 15)]);
        let mut text = ArrayString::<4>::new();
        text.push('%');
        text.push(digit(byte >> 4));
        text.push(digit(byte));
        self.text(&text);
    }

    #[cold]
    fn shorten(&mut self) {
        let hash = hmac_sha256::Hash::hash(self.heap.as_bytes());
        let mut end = KEPT;
        while !self.heap.is_char_boundary(end) {
            end -= 1;
        }
        self.heap.truncate(end);
        self.heap.push_str("%h");
        for byte in hash {
            self.heap.push(char::from(HEX[usize::from(byte >> 4)]));
            self.heap.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

impl fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Formatting into a key.
struct Encoded<'a> {
    key: &'a mut KeyBuf,
    stop: char,
}

impl fmt::Write for Encoded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.key.value(text, self.stop);
        Ok(())
    }
}

/// A rendered key, made by [`key!`](crate::key!).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0.into()
    }
}

impl PartialEq<str> for Key {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Key {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
