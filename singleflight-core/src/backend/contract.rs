//! What a backend must do. Read this, `news` and the conformance suite (`testing::conformance`) to write one.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Changes, Token, Watch};
use crate::entry::{Entry, Kind, Payload, Stamp};
use crate::error::BackendError;
use crate::link::Link;

/// A store of entries and leases.
///
/// Each method is **one atomic step**: of two steps on one key, one sees the other's whole effect or none of it.
/// What the steps together promise:
///
/// - between two state changes of a key at most one unexpired token exists;
/// - only the holder of that token can renew, publish or abandon; everyone else is told so and changes nothing;
/// - [`invalidate`](Self::invalidate) removes the entry *and* voids the lease, so that a load already running cannot
///   bring the old value back;
/// - everything written has a TTL.
///
/// Durations in requests and answers are *from now*; no absolute time ever crosses the contract, so clocks of
/// different hosts are never compared. All methods must be safe to repeat after a lost answer: the token makes a
/// repeated acquire the same grant and a repeated publish recognisable. Only where a first acquire can no longer be heard
/// may it be repeated: heard after an invalidation it would give the load its lease back. The engine repeats none.
///
/// # Cancel safety
/// Any returned future may be dropped; the step has then been done or not. The engine cleans up by token.
#[async_trait]
pub trait LeaseBackend: Send + Sync + fmt::Debug + 'static {
    /// What this backend keeps. Constant for the life of the backend.
    fn medium(&self) -> Medium;

    /// The entry, if it can be had without waiting; the hit path of in-process backends.
    ///
    /// A [`Medium::Values`] backend answers as [`read`](Self::read) would; others answer `None`.
    /// Atomic: a snapshot of the key's entry.
    fn peek(&self, key: &str) -> Option<Entry> {
        let _ = key;
        None
    }

    /// The entry, fresh or stale; never one past its hard TTL.
    ///
    /// Atomic: payload, stamp and remaining times belong together.
    ///
    /// # Errors
    /// When the store cannot be asked.
    async fn read(&self, key: &str) -> Result<Option<Entry>, BackendError>;

    /// Asks for the lease.
    ///
    /// Atomic: the entry is looked at and the lease taken in one step. In this order:
    /// 1. unless forced, a fresh entry of the wanted [`Kind`] → [`Acquired::Fresh`];
    /// 2. unless asked for despite of it, the failure of the grant named by `waited_on`, if it ended in one less than a second ago, or a cool-down, of
    ///    the wanted identity (the lease remembers whose it is) → [`Acquired::CoolingDown`] (`waited_on` concerns only those who were already waiting; of several failures of
    ///    one key the last need be remembered);
    /// 3. no lease, an expired one, or one with this very token (a repeat; its TTL starts again) → [`Acquired::Granted`];
    /// 4. [`Acquired::Held`].
    ///
    /// # Errors
    /// When the store cannot be asked, or cannot write.
    async fn acquire(&self, request: Acquire<'_>) -> Result<Acquired, BackendError>;

    /// Stores the entry, ends the lease and wakes whoever watches, if the token still holds the lease.
    ///
    /// Atomic: all of it or nothing. A repeat after a success answers [`Published::Stored`] as long as the entry is
    /// still there. A lease that has expired is not held, also where nobody else has taken it.
    ///
    /// An entry of the same identity and a higher version stays: the offered one is [`Published::Refused`], and the
    /// lease ends as if abandoned without a failure.
    ///
    /// # Errors
    /// When the store cannot be asked, or cannot write
    /// ([`Refused`](crate::error::BackendErrorKind::Refused)); the lease is then as it was.
    async fn publish(&self, request: Publish<'_>) -> Result<Published, BackendError>;

    /// Ends the lease without a value and wakes whoever watches, if the token still holds the lease.
    ///
    /// Atomic: compare and delete (or compare and cool down). Not owning the lease is an answer, not an error.
    ///
    /// # Errors
    /// When the store cannot be asked.
    async fn abandon(&self, request: Abandon<'_>) -> Result<Released, BackendError>;

    /// Lets the lease last `ttl` from now, if the token still holds it.
    ///
    /// Atomic: compare and extend.
    ///
    /// # Errors
    /// When the store cannot be asked; the lease may or may not have been extended.
    async fn renew(&self, key: &str, token: Token, ttl: Duration) -> Result<Renewed, BackendError>;

    /// Begins to listen for what becomes of the key's lease.
    ///
    /// When this returns, every later change is heard, or reported as [`Change::Unknown`](super::Change::Unknown): so
    /// *watch, then look, then sleep* misses nothing. Dropping the watch ends it and leaves nothing behind.
    ///
    /// # Errors
    /// When the store cannot be asked; the caller then looks at intervals instead.
    async fn watch(&self, key: &str) -> Result<Box<dyn Watch>, BackendError>;

    /// Removes the entry, voids the lease, the cool-down and the failure note, and wakes whoever watches.
    ///
    /// Atomic: once it returns, no load that began before can store its value.
    ///
    /// # Errors
    /// When the store cannot be asked; the entry may or may not be gone.
    async fn invalidate(&self, key: &str) -> Result<Invalidated, BackendError>;

    /// Hands over an abandon or invalidate that nobody can wait for, because it starts in a `Drop`.
    ///
    /// Never blocks. In-process backends do it at once; others as soon as they can, best effort: the TTL is the
    /// guarantee. Atomic as the step itself.
    fn post(&self, note: Note);

    /// What changes in the store, of the keys that begin with `prefix`, for copies kept in front of it; `None` where
    /// there is no such feed.
    ///
    /// Dropping the feed ends it and leaves nothing behind.
    fn changes(&self, prefix: &str) -> Option<Box<dyn Changes>> {
        let _ = prefix;
        None
    }

    /// The connection's state machine; `None` where there is no connection to lose.
    fn link(&self) -> Option<&Link> {
        None
    }
}

/// What a backend keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Medium {
    /// The values themselves, shared in this process; [`LeaseBackend::peek`] answers.
    Values,
    /// Bytes made by a codec.
    Bytes,
    /// Nothing: every call runs its body.
    Nothing,
}

/// A request for the lease.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Acquire<'a> {
    /// The key.
    pub key: &'a str,
    /// The token of the grant, should it be granted.
    pub token: Token,
    /// How long the lease lasts unless renewed.
    pub ttl: Duration,
    /// Which entries count as fresh.
    pub kind: Kind,
    /// Ask even where the entry is fresh.
    pub force: bool,
    /// Ask even while a failure cools down, which granting then ends.
    pub despite_cooldown: bool,
    /// The grant this caller has been waiting on, as named by [`Acquired::Held`].
    pub waited_on: Option<Token>,
}

impl<'a> Acquire<'a> {
    /// A request that is not forced and comes from a newcomer.
    #[must_use]
    pub const fn new(key: &'a str, token: Token, ttl: Duration, kind: Kind) -> Self {
        Self { key, token, ttl, kind, force: false, despite_cooldown: false, waited_on: None }
    }

    /// The same, asking even where the entry is fresh.
    #[must_use]
    pub const fn forced(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// The same, asking even while a failure cools down.
    #[must_use]
    pub const fn despite_cooldown(mut self, despite: bool) -> Self {
        self.despite_cooldown = despite;
        self
    }

    /// The same, from someone who has been waiting on that grant.
    #[must_use]
    pub const fn waited_on(mut self, grant: Option<Token>) -> Self {
        self.waited_on = grant;
        self
    }
}

/// The answer to [`LeaseBackend::acquire`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acquired {
    /// There is a fresh entry of the wanted kind: read it.
    Fresh,
    /// The lease is the caller's.
    Granted,
    /// Someone else has it.
    Held {
        /// The token of the grant in force.
        grant: Token,
        /// How long it lasts unless renewed.
        left: Duration,
    },
    /// The last fill failed and is not to be repeated yet.
    CoolingDown {
        /// How long.
        left: Duration,
        /// The failure's message.
        message: Arc<str>,
    },
}

/// A value to be stored under a lease.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Publish<'a> {
    /// The key.
    pub key: &'a str,
    /// The token of the lease.
    pub token: Token,
    /// The value, in the backend's [`Medium`].
    pub payload: Payload,
    /// What the entry says about itself.
    pub stamp: Stamp,
    /// Fresh for this long.
    pub soft_ttl: Duration,
    /// Gone after this long.
    pub hard_ttl: Duration,
}

impl<'a> Publish<'a> {
    /// A value that is fresh for `soft_ttl` and gone after `hard_ttl`.
    #[must_use]
    pub const fn new(
        key: &'a str,
        token: Token,
        payload: Payload,
        stamp: Stamp,
        soft_ttl: Duration,
        hard_ttl: Duration,
    ) -> Self {
        Self { key, token, payload, stamp, soft_ttl, hard_ttl }
    }
}

/// The answer to [`LeaseBackend::publish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Published {
    /// The value is in the store and the lease is free.
    Stored,
    /// The lease was no longer the caller's, and nothing was changed; or a higher version is stored, and the lease is
    /// free.
    Refused,
}

/// The end of a lease without a value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Abandon<'a> {
    /// The key.
    pub key: &'a str,
    /// The token of the lease.
    pub token: Token,
    /// The failure's message, at most [`MAX_MESSAGE`](crate::error::MAX_MESSAGE) bytes: told to those who watch, and
    /// for one second to those who ask with `waited_on`. `None` where nothing failed (a cancel, a value not to be kept).
    pub failure: Option<&'a str>,
    /// For how long new arrivals are answered [`Acquired::CoolingDown`]; zero for not at all.
    pub cooldown: Duration,
}

impl<'a> Abandon<'a> {
    /// An end without a failure.
    #[must_use]
    pub const fn new(key: &'a str, token: Token) -> Self {
        Self { key, token, failure: None, cooldown: Duration::ZERO }
    }

    /// An end by this failure.
    #[must_use]
    pub const fn failed(mut self, message: &'a str, cooldown: Duration) -> Self {
        self.failure = Some(message);
        self.cooldown = cooldown;
        self
    }
}

/// The answer to [`LeaseBackend::abandon`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Released {
    /// The lease is free.
    Freed,
    /// It was not the caller's; nothing was changed.
    NotOwned,
}

/// The answer to [`LeaseBackend::renew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Renewed {
    /// The lease lasts longer now.
    Extended,
    /// It is no longer the caller's, and never will be again.
    Lost,
}

/// The answer to [`LeaseBackend::invalidate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Invalidated {
    /// There was an entry.
    Removed,
    /// There was none.
    Absent,
}

/// Something to be done that nobody waits for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Note {
    /// End a lease, as [`LeaseBackend::abandon`].
    Abandon {
        /// The key.
        key: Arc<str>,
        /// The token of the lease.
        token: Token,
        /// The failure's message, if it failed.
        failure: Option<Arc<str>>,
        /// How long new arrivals share the failure.
        cooldown: Duration,
    },
    /// Invalidate a key, as [`LeaseBackend::invalidate`].
    Invalidate {
        /// The key.
        key: Arc<str>,
    },
}

/// A value shared in this process.
pub type SharedValue = Arc<dyn Any + Send + Sync>;

#[cfg(test)]
fn _object_safe(_: &dyn LeaseBackend, _: &dyn Watch, _: &dyn Changes) {}
