//! The suite that every backend must pass: what [`LeaseBackend`] says, as checks.
//!
//! [`conformance_suite!`](crate::conformance_suite) makes one test of each check, in a module named for the backend, with
//! one line. The crate that has it needs tokio's `macros` and `rt-multi-thread`.
//!
//! ```
//! # use singleflight_core::MemoryBackend as OurBackend;
//! use singleflight_core::testing::conformance;
//!
//! mod in_process {
//!     # use super::*;
//!     // For a backend that takes its time from a `Clock`: nothing is waited for.
//!     singleflight_core::conformance_suite!(conformance::in_process(|clock| OurBackend::builder().clock(clock).build()));
//! }
//!
//! mod on_a_server {
//!     # use super::*;
//!     # async fn connect() -> OurBackend { OurBackend::new() }
//!     // For one that has a time of its own.
//!     singleflight_core::conformance_suite!(conformance::in_real_time(connect()));
//! }
//! # fn main() {}
//! ```
//!
//! Anything else is a [`Harness`] of your own: one that keeps a server running for as long as the check does, say.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use singleflight_core::testing::conformance::{self, Harness};
//! use singleflight_core::{LeaseBackend, MemoryBackend};
//!
//! struct Rig(Arc<MemoryBackend>);
//!
//! #[async_trait::async_trait]
//! impl Harness for Rig {
//!     fn backend(&self) -> Arc<dyn LeaseBackend> {
//!         self.0.clone()
//!     }
//!     async fn pass(&self, time: Duration) {
//!         tokio::time::sleep(time).await;
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let rig = Rig(Arc::new(MemoryBackend::new()));
//! conformance::check("p05_invalidate_voids_the_lease", &rig).await; // one check, by name
//! # }
//! ```
//!
//! The names say which promise is checked. A backend that keeps nothing ([`Medium::Nothing`]) is held only to what it
//! says to those who own nothing: `conformance_suite!(rig(), keeps nothing)` runs the checks of which
//! [`Check::is_for`] says so, all in one file, `conformance/unowned.rs`.
//!
//! Not checked, because a client cannot see it: that no record lacks a TTL of its own, and what a restart of the store
//! does.

mod entries;
mod failures;
mod leases;
mod race;
mod ready;
mod unowned;
mod watches;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use self::ready::{InProcess, InRealTime, in_process, in_real_time};
use self::{entries::*, failures::*, leases::*, race::*, unowned::*, watches::*};
use crate::backend::{Acquire, Acquired, LeaseBackend, Medium, Publish, Published, Token};
use crate::entry::{Entry, Kind, Payload, Stamp};

/// A backend under test, and its time.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The backend; the same one each time. Whoever else uses it meanwhile does no harm: every check uses keys that
    /// nobody else has.
    fn backend(&self) -> Arc<dyn LeaseBackend>;

    /// Lets this much time go by for the backend, by moving its clock or by really waiting.
    async fn pass(&self, time: Duration);
}

/// One check; it panics where the backend fails it.
#[derive(Clone, Copy)]
pub struct Check {
    name: &'static str,
    stores: bool,
    run: Run,
}

type Run = for<'a> fn(&'a dyn Harness) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Check {
    /// The name: the promise's number and what is promised.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether a backend of this medium is held to it.
    #[must_use]
    pub fn is_for(&self, medium: Medium) -> bool {
        !self.stores || medium != Medium::Nothing
    }

    /// Runs it.
    ///
    /// # Panics
    /// Where the backend fails it.
    ///
    /// # Cancel safety
    /// Dropping the future leaves keys behind that end by their TTL.
    pub async fn run(&self, harness: &dyn Harness) {
        (self.run)(harness).await;
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

/// All checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    crate::__conformance_list! { checks }
}

/// Runs the check of this name.
///
/// # Panics
/// Where there is none, or the backend fails it.
///
/// # Cancel safety
/// As [`Check::run`].
pub async fn check(name: &str, harness: &dyn Harness) {
    let found = checks().into_iter().find(|check| check.name == name);
    found.unwrap_or_else(|| panic!("there is no check named {name}")).run(harness).await;
}

/// Makes one `#[tokio::test]` of each conformance check; see [`conformance`](crate::testing::conformance).
///
/// The argument is a future that gives a [`Harness`](crate::testing::conformance::Harness); it is evaluated anew for each test.
#[macro_export]
macro_rules! conformance_suite {
    ($harness:expr) => {
        $crate::__conformance_list! { all $harness }
    };
    ($harness:expr, keeps nothing) => {
        $crate::__conformance_list! { nothing $harness }
    };
}

/// The list; hands it to `__conformance_each` together with what is to be made of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_list {
    ($($what:tt)*) => {
        $crate::__conformance_each! {
            { $($what)* }
            any: [
                p04_publish_without_any_lease_writes_nothing
                p05_invalidating_nothing_is_no_error
                p07_abandoning_nothing_is_no_error
                p13_renewing_nothing_is_no_error
                p18_nothing_is_read_where_nothing_was_stored
                p22_keys_of_any_bytes_and_length_can_be_asked_for
            ]
            storing: [
                p01_a_lease_is_granted_once_and_its_holder_named
                p01_of_many_who_ask_at_once_one_is_granted
                p02_a_repeated_acquire_is_the_same_grant
                p02_a_repeated_acquire_starts_the_ttl_again
                p03_publish_stores_the_entry_and_ends_the_lease
                p03_a_repeated_publish_is_recognised
                p04_publish_without_the_live_token_writes_nothing
                p04_publish_after_the_lease_expired_writes_nothing
                p04_publish_after_a_takeover_writes_nothing
                p05_invalidate_removes_the_entry
                p05_invalidate_voids_the_lease
                p05_a_posted_invalidate_does_the_same
                p05_nothing_older_than_an_invalidation_is_read
                p07_abandon_frees_only_its_own_lease
                p08_an_abandoned_lease_can_be_had_at_once
                p08_a_posted_abandon_frees_the_lease
                p09_every_entry_says_when_it_is_gone
                p10_a_lost_acquire_is_cleaned_up_by_its_token
                p11_an_expired_lease_is_granted_again_and_not_before
                p13_renew_extends_only_its_own_lease
                p13_an_expired_lease_cannot_be_renewed
                p15_a_failure_is_told_to_those_who_waited_and_to_nobody_else
                p15_a_failure_is_forgotten_after_a_second
                p15_a_cooldown_is_told_to_everybody_until_it_ends
                p15_a_failure_is_only_for_calls_of_the_same_function
                p15_a_forced_acquire_ends_a_cooldown
                p15_a_failed_refresh_leaves_the_entry
                p15_an_invalidate_ends_cooldown_and_failure
                p15_a_message_arrives_whole
                p18_hard_expired_entries_are_never_read
                p18_soft_expired_entries_are_read_and_not_fresh
                p18_a_fresh_entry_is_answered_instead_of_the_lease
                p18_a_forced_acquire_ignores_freshness
                p18_payload_and_stamp_come_back
                p18_an_entry_of_another_kind_is_not_fresh
                p18_a_higher_version_replaces_a_lower_and_not_the_other_way
                p18_peek_answers_as_the_medium_says
                p20_a_watch_hears_a_publish
                p20_a_watch_hears_an_abandon_and_why
                p20_a_watch_hears_an_invalidate
                p20_every_watch_of_a_key_hears
                p20_a_dropped_wait_loses_no_change
                p20_a_watch_outlives_many_changes
                p22_keys_do_not_touch_each_other
                p22_keys_of_any_bytes_and_length_keep_their_values
                p01_grants_exclude_each_other_in_a_race
                changes_name_the_keys_that_change
            ]
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_each {
    ({ checks } any: [$($any:ident)*] storing: [$($storing:ident)*]) => {
        vec![
            $(Check { name: stringify!($any), stores: false, run: |harness| Box::pin($any(harness)) },)*
            $(Check { name: stringify!($storing), stores: true, run: |harness| Box::pin($storing(harness)) },)*
        ]
    };
    ({ all $harness:expr } any: [$($any:ident)*] storing: [$($storing:ident)*]) => {
        $crate::__conformance_each! { @tests $harness, $($any)* $($storing)* }
    };
    ({ nothing $harness:expr } any: [$($any:ident)*] storing: [$($storing:ident)*]) => {
        $crate::__conformance_each! { @tests $harness, $($any)* }
    };
    (@tests $harness:expr, $($name:ident)*) => {$(
        #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            $crate::testing::conformance::check(stringify!($name), &$harness.await).await;
        }
    )*};
}

/// Long enough never to pass while a check runs.
const LONG: Duration = Duration::from_secs(60);
/// Short enough to be waited for; long enough not to pass while a check that does not wait goes on.
const SHORT: Duration = Duration::from_secs(3);
/// Let pass after `SHORT` to be sure, against a store that counts in whole milliseconds and rounds up.
const MARGIN: Duration = Duration::from_millis(20);
/// The kind of all entries, where a check does not say otherwise.
const KIND: Kind = Kind::new(0xc0_ff_ee, 3);

/// One key of a backend, which nobody else uses, and the steps in the form that most checks want.
#[derive(Clone)]
struct Subject {
    backend: Arc<dyn LeaseBackend>,
    key: Arc<str>,
}

impl Subject {
    fn new(harness: &dyn Harness) -> Self {
        Self::with(harness, "")
    }

    /// A key that contains this text.
    fn with(harness: &dyn Harness, text: &str) -> Self {
        let key = format!("conformance:{:?}:{text}", Token::random());
        Self { backend: harness.backend(), key: key.into() }
    }

    fn request(&self, token: Token) -> Acquire<'_> {
        Acquire::new(&self.key, token, LONG, KIND)
    }

    async fn ask(&self, request: Acquire<'_>) -> Acquired {
        self.backend.acquire(request).await.expect("acquire answers")
    }

    async fn acquire(&self, token: Token) -> Acquired {
        self.ask(self.request(token)).await
    }

    /// Takes the lease for `ttl`, also where the entry is fresh.
    async fn take(&self, ttl: Duration) -> Token {
        let token = Token::random();
        let answer = self.ask(Acquire::new(&self.key, token, ttl, KIND).forced(true)).await;
        assert_eq!(answer, Acquired::Granted, "a free lease is granted");
        token
    }

    fn offer(&self, token: Token, value: u64) -> Publish<'_> {
        let (payload, codec) = match self.backend.medium() {
            Medium::Bytes => (Payload::Bytes(Bytes::copy_from_slice(&value.to_be_bytes())), 1),
            _ => (Payload::Value(Arc::new(value)), 0),
        };
        let stamp = Stamp::new(KIND, codec, Duration::from_millis(12), token);
        Publish::new(&self.key, token, payload, stamp, LONG, 2 * LONG)
    }

    async fn send(&self, offer: Publish<'_>) -> Published {
        self.backend.publish(offer).await.expect("publish answers")
    }

    async fn publish(&self, token: Token, value: u64) -> Published {
        self.send(self.offer(token, value)).await
    }

    /// Stores a value under a lease of its own.
    async fn put(&self, value: u64) -> Token {
        let token = self.take(LONG).await;
        assert_eq!(self.publish(token, value).await, Published::Stored, "the holder may publish");
        token
    }

    async fn read(&self) -> Option<Entry> {
        self.backend.read(&self.key).await.expect("read answers")
    }

    async fn value(&self) -> Option<u64> {
        self.read().await.map(|entry| number(&entry))
    }
}

/// The value that `Subject::offer` has put into an entry.
fn number(entry: &Entry) -> u64 {
    match &entry.payload {
        Payload::Value(value) => *value.downcast_ref::<u64>().expect("the value that was stored"),
        Payload::Bytes(bytes) => {
            u64::from_be_bytes((&bytes[..]).try_into().expect("the bytes that were stored"))
        }
    }
}
