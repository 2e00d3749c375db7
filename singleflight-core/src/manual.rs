//! Calls by hand, without the attribute.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use crate::SingleFlight;
use crate::call::{Call, Entered};
use crate::error::{FlightError, FlightErrorKind};
use crate::identity::Place;
use crate::kind::{ByClone, ByFlightError, CanMake, DisplayWords, IsResult, Never, Value, plan, portable};
use crate::policy::{LockTtl, Losers, Policy};
use crate::site::Site;
use crate::typed::Typed;

/// The site of calls that name none.
static UNNAMED: Site = Site::named("flight");

/// A call by hand: made by [`SingleFlight::flight`], ended by [`run`](Self::run).
///
/// Calls with one key, one [`site`](Self::site) name and one value type share values.
///
/// ```
/// use singleflight_core::{FlightError, SingleFlight};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let flights = SingleFlight::in_memory();
/// let name: Option<String> = flights
///     .flight("user:1")
///     .ttl(Duration::from_secs(30))
///     .lock_ttl(Duration::from_millis(1500))
///     .run(|| async { Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Some("Ada".to_owned())) })
///     .await?;
/// assert_eq!(name.as_deref(), Some("Ada"));
/// # Ok(()) }
/// ```
#[must_use = "a call does nothing until it is run"]
pub struct Manual<'a> {
    flights: &'a SingleFlight,
    key: &'a str,
    site: &'static Site,
    policy: Policy,
}

impl<'a> Manual<'a> {
    pub(crate) fn new(flights: &'a SingleFlight, key: &'a str) -> Self {
        let policy = Policy::new().ttl(Duration::from_secs(60));
        Self { flights, key, site: &UNNAMED, policy }
    }

    /// The hard TTL. Default: 60 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.policy = self.policy.ttl(ttl);
        self
    }

    /// The soft TTL. Default: the hard TTL.
    pub fn soft_ttl(mut self, soft_ttl: Duration) -> Self {
        self.policy = self.policy.soft_ttl(soft_ttl);
        self
    }

    /// The lease TTL. Default: from the recent fill times.
    pub fn lock_ttl(mut self, lock_ttl: Duration) -> Self {
        self.policy = self.policy.lock_ttl(LockTtl::Fixed(lock_ttl));
        self
    }

    /// What callers without the lease do. Default: [`Losers::Stale`]. [`Losers::Default`] is [`Losers::Stale`] here:
    /// there is no default.
    pub fn losers(mut self, losers: Losers) -> Self {
        self.policy = self.policy.losers(losers);
        self
    }

    /// All of a policy at once, in the place of what was set before.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Who calls, for the statistics; and calls of different sites do not share values.
    pub fn site(mut self, site: &'static Site) -> Self {
        self.site = site;
        self
    }

    /// The value, from the store, from another caller's load, or from `body`. An error is never stored; those who
    /// waited for the load get a [`FlightError`] that carries its message.
    ///
    /// # Errors
    /// The body's; a [`FlightError`] as the policy says, and of the kind
    /// [`Misconfigured`](FlightErrorKind::Misconfigured) if the policy makes no sense.
    ///
    /// # Cancel safety
    /// Dropping the future affects this caller alone: if it was loading, one of those who wait runs its own body.
    pub async fn run<T, E, F, B>(self, body: B) -> Result<T, E>
    where
        T: Value,
        E: From<FlightError> + fmt::Display,
        F: Future<Output = Result<T, E>>,
        B: FnOnce() -> F,
    {
        let kind = IsResult::new();
        let plan = plan(kind, portable(kind), Never, ByFlightError, CanMake, DisplayWords);
        self.fly(&plan, body).await
    }

    /// As [`run`](Self::run), but those who waited for the load get a clone of its error.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    pub async fn run_sharing<T, E, F, B>(self, body: B) -> Result<T, E>
    where
        T: Value,
        E: Clone + From<FlightError> + fmt::Display + Send + Sync + 'static,
        F: Future<Output = Result<T, E>>,
        B: FnOnce() -> F,
    {
        let kind = IsResult::new();
        let plan = plan(kind, portable(kind), Never, ByClone, CanMake, DisplayWords);
        self.fly(&plan, body).await
    }

    async fn fly<T, E, F, B>(self, plan: &dyn Typed<Result<T, E>>, body: B) -> Result<T, E>
    where
        E: From<FlightError>,
        F: Future<Output = Result<T, E>>,
        B: FnOnce() -> F,
    {
        if let Err(error) = self.policy.check() {
            let kind = FlightErrorKind::Misconfigured;
            return Err(FlightError::with_message(kind, self.key, error.message()).into());
        }
        let place = Place::named(self.site.name());
        let call = Call::new(plan, self.site, place, &self.policy, self.key, Some(self.flights));
        if let Some(result) = call.peek() {
            return result;
        }
        let fill = match call.enter().await {
            Entered::Answer(result) => return result,
            Entered::Default => call.alone(),
            Entered::Fill(fill) => fill,
        };
        fill.run(pin!(body())).await
    }
}

impl fmt::Debug for Manual<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manual").field("key", &self.key).field("policy", &self.policy).finish_non_exhaustive()
    }
}
