//! What can go wrong for a caller ([`FlightError`]), in a backend ([`BackendError`]) and in a policy ([`PolicyError`]).

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The longest failure message that is carried to other callers and processes, in bytes.
pub const MAX_MESSAGE: usize = 1024;

/// Why a caller got no value although its own body never failed.
///
/// Cheap to clone: every caller that waited on one failed load gets the same one.
#[derive(Clone)]
pub struct FlightError {
    inner: Arc<Inner>,
}

struct Inner {
    kind: FlightErrorKind,
    key: Box<str>,
    message: Option<Box<str>>,
}

/// The kinds of [`FlightError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlightErrorKind {
    /// The load this caller waited for failed; the message is the load's own.
    LoadFailed,
    /// The load this caller waited for panicked.
    Panicked,
    /// The wait budget ran out and the policy says to fail.
    TimedOut,
    /// Someone else is loading and the policy says to fail rather than wait.
    Busy,
    /// A load failed moments ago and its cool-down is not over.
    CoolingDown,
    /// The policy of a call by hand makes no sense; the message says which value, and what it may be.
    Misconfigured,
}

impl FlightError {
    pub(crate) fn new(kind: FlightErrorKind, key: &str) -> Self {
        Self { inner: Arc::new(Inner { kind, key: key.into(), message: None }) }
    }

    pub(crate) fn with_message(kind: FlightErrorKind, key: &str, message: &str) -> Self {
        let message = Some(clip(message).into());
        Self { inner: Arc::new(Inner { kind, key: key.into(), message }) }
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> FlightErrorKind {
        self.inner.kind
    }

    /// The key of the call, as rendered.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.inner.key
    }

    /// The message of the load that failed, cut to [`MAX_MESSAGE`] bytes.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.inner.message.as_deref()
    }
}

impl fmt::Display for FlightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key();
        match self.inner.kind {
            FlightErrorKind::LoadFailed => write!(f, "the load of `{key}` that this call waited for failed")?,
            FlightErrorKind::Panicked => write!(f, "the load of `{key}` that this call waited for panicked")?,
            FlightErrorKind::TimedOut => {
                write!(
                    f,
                    "waited for the load of `{key}` until the wait budget ran out; a longer `wait` would go on"
                )?;
            }
            FlightErrorKind::Busy => {
                write!(
                    f,
                    "`{key}` is being loaded by another caller; `losers = \"wait\"` would wait for it"
                )?;
            }
            FlightErrorKind::CoolingDown => {
                write!(f, "the last load of `{key}` failed and is not tried again until its cool-down ends")?;
            }
            FlightErrorKind::Misconfigured => write!(f, "the policy of the call for `{key}` makes no sense")?,
        }
        match self.message() {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for FlightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightError")
            .field("kind", &self.inner.kind)
            .field("key", &self.inner.key)
            .field("message", &self.inner.message)
            .finish_non_exhaustive()
    }
}

impl Error for FlightError {}

/// So that repositories that return [`std::io::Result`] can be annotated as they are.
impl From<FlightError> for std::io::Error {
    fn from(error: FlightError) -> Self {
        let kind = match error.kind() {
            FlightErrorKind::TimedOut => std::io::ErrorKind::TimedOut,
            FlightErrorKind::Busy | FlightErrorKind::CoolingDown => std::io::ErrorKind::ResourceBusy,
            _ => std::io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// A backend could not do what was asked of it.
///
/// Callers never see one, except from [`SingleFlight::invalidate`](crate::SingleFlight::invalidate): the engine
/// answers them without the backend instead.
#[derive(Debug)]
pub struct BackendError {
    kind: BackendErrorKind,
    message: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kinds of [`BackendError`], as far as the engine tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The backend cannot be reached, is loading, or refuses every write (a replica, say).
    Unavailable,
    /// No answer, within the backend's own time-out or before the connection was cut; whether the step was done is not
    /// known.
    Timeout,
    /// The backend is reachable and refused this one step (out of memory, a foreign key type).
    Refused,
    /// The backend answered something it never should.
    Protocol,
}

impl BackendError {
    /// An error of this kind; the message is a lower-case clause.
    #[must_use]
    pub fn new(kind: BackendErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same with the error that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> BackendErrorKind {
        self.kind
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            BackendErrorKind::Unavailable => "backend unavailable",
            BackendErrorKind::Timeout => "backend timed out",
            BackendErrorKind::Refused => "backend refused",
            BackendErrorKind::Protocol => "unexpected answer from the backend",
        };
        write!(f, "{kind}: {}", self.message)
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// A policy that makes no sense, with what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyError {
    message: &'static str,
}

impl PolicyError {
    pub(crate) const fn new(message: &'static str) -> Self {
        Self { message }
    }

    /// The sentence, for use in `const` panics.
    #[must_use]
    pub const fn message(&self) -> &'static str {
        self.message
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl Error for PolicyError {}

/// The longest prefix of `message` that fits [`MAX_MESSAGE`] and ends on a character.
pub(crate) fn clip(message: &str) -> &str {
    let mut end = message.len().min(MAX_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}
