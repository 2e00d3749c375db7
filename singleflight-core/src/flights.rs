//! The engine's handle: [`SingleFlight`], how it is made, and which one a call gets.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use crate::backend::{LeaseBackend, Note};
use crate::builder::SingleFlightBuilder;
use crate::config::{BackendChoice, ConfigError};
use crate::control::{Scope, Scoped};
use crate::engine::Engine;
use crate::error::{BackendError, PolicyError};
use crate::manual::Manual;
use crate::observe::Statistics;
use crate::policy::Policy;

/// An engine: a backend, the flights in progress on it, and its statistics. Cheap to clone; clones are one engine.
///
/// ```
/// use singleflight_core::{FlightError, SingleFlight};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let flights = SingleFlight::in_memory();
/// let load = || async { Ok::<_, FlightError>(6 * 7) };
/// let answer = flights.flight("answer").ttl(Duration::from_secs(30)).run(load).await?;
/// assert_eq!(answer, 42);
/// flights.invalidate("answer").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SingleFlight {
    engine: Arc<Engine>,
}

/// The engine of calls that name none, once it was installed or used.
static PROCESS: OnceLock<SingleFlight> = OnceLock::new();

impl SingleFlight {
    /// An engine on a memory backend of its own.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::builder().build()
    }

    /// An engine on this backend.
    #[must_use]
    pub fn on(backend: impl LeaseBackend) -> Self {
        Self::builder().backend(Arc::new(backend)).build()
    }

    /// Makes an engine.
    pub fn builder() -> SingleFlightBuilder {
        SingleFlightBuilder::default()
    }

    /// The engine that the environment asks for: `SINGLEFLIGHT_BACKEND` is `memory:` (the default) or `noop:`.
    ///
    /// # Errors
    /// For anything else, with a sentence that lists the good values; `redis:` and its kin need `singleflight-redis`.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(match BackendChoice::from_env()? {
            BackendChoice::Memory => Self::in_memory(),
            BackendChoice::Noop => Self::on(crate::backend::NoopBackend),
        })
    }

    /// Makes this the engine of all calls in the process that name none.
    ///
    /// # Errors
    /// If there is one already: install before the first annotated call, and once.
    pub fn install(self) -> Result<(), InstallError> {
        PROCESS.set(self).map_err(|_| InstallError(()))
    }

    /// Runs `future` with this as the engine of all calls in it that name none: one engine per test.
    ///
    /// It goes with `future`, not with tasks that `future` spawns: write `tokio::spawn(flights.scope(task))` for those.
    ///
    /// # Cancel safety
    /// That of `future`.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let flights = self.clone();
        Scoped::new(future, move |scope| scope.flights = Some(flights.clone()))
    }

    /// The engine of calls here that name none: the one in scope, else the process's. For what has no call of its own to
    /// hang on to: an invalidate after a commit, the statistics.
    ///
    /// ```
    /// use singleflight_core::{SingleFlight, key};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), singleflight_core::BackendError> {
    /// # let id = 7;
    /// // the transaction has been committed
    /// SingleFlight::current().invalidate(&key!("user:<id>")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    /// As an annotated call would: if no engine is in scope or installed, and the environment asks for one that must be.
    #[must_use]
    pub fn current() -> Self {
        Scope::current().flights.unwrap_or_else(|| Self::with_default(Clone::clone))
    }

    /// A call by hand, without the attribute.
    pub fn flight<'a>(&'a self, key: &'a str) -> Manual<'a> {
        Manual::new(self, key)
    }

    /// Removes the value of `key`, in every process, and voids a load of it that is under way: whatever that load
    /// gives is for those who were waiting before this call; nobody who comes after it returned sees it.
    ///
    /// # Errors
    /// If the backend could not be told. The key is then remembered and sent before the backend is used again, and is
    /// already gone in this process. At most [`Link::UNSENT`](crate::link::Link::UNSENT) keys are remembered: what is
    /// invalidated beyond that while the backend is away is seen again once it is back, until its TTL is over.
    ///
    /// # Cancel safety
    /// Dropped before it returns, it may or may not have been done.
    pub async fn invalidate(&self, key: &str) -> Result<(), BackendError> {
        let engine = &*self.engine;
        let key: Arc<str> = key.into();
        // Before, so that nobody joins an older flight while the backend is asked; and after, for those that began in
        // between.
        engine.forget(&key);
        let wire_key = engine.wire_key(&key);
        let invalidated = engine.backend.invalidate(&wire_key).await;
        engine.forget(&key);
        let link = engine.link();
        if invalidated.is_err() {
            // Down even where this was the only step to fail: nobody here may read what is to be gone.
            link.remember(&wire_key);
            link.down(engine.clock.now());
        } else {
            link.note(&invalidated, &engine.clock);
        }
        invalidated.map(drop)
    }

    /// Invalidates without waiting, for `Drop`: done as soon as the backend can.
    pub(crate) fn post_invalidate(&self, key: &str) {
        let engine = &*self.engine;
        let key: Arc<str> = key.into();
        let wire_key = engine.wire_key(&key);
        engine.forget(&key);
        if engine.link().is_up() {
            engine.backend.post(Note::Invalidate { key: wire_key });
        } else {
            engine.link().remember(&wire_key);
        }
        engine.forget(&key);
    }

    /// Puts `policy` in the place of the one that the functions named `name` were written with; `None` lifts it.
    ///
    /// A function is named by its label (`module::function`, or its `name`) or by the end of it: `"users::find"` and
    /// `"find"` both name `shop::users::find`. It need not have been called yet, so a name that fits nothing is no error;
    /// the labels met so far are those of [`statistics`](Self::statistics).
    ///
    /// What is stored already keeps the TTLs it was stored with.
    ///
    /// `losers = "fail"` and `on_timeout = "fail"` mean "wait" and "load" for functions whose result cannot carry a
    /// [`FlightError`](crate::FlightError); "default" means the same for functions without a default.
    ///
    /// # Errors
    /// If the policy makes no sense.
    pub fn override_policy(&self, name: &str, policy: impl Into<Option<Policy>>) -> Result<(), PolicyError> {
        let policy = policy.into();
        if let Some(policy) = &policy {
            policy.check()?;
        }
        self.engine.sites.override_policy(name, policy);
        Ok(())
    }

    /// What this engine has counted so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.engine.statistics()
    }

    /// Hands over to the recorder of the `metrics` crate what this engine has counted so far; for whoever serves figures on
    /// demand, or has no runtime.
    #[cfg(feature = "metrics")]
    pub fn report_metrics(&self) {
        crate::metrics::report(&self.engine);
    }

    /// How many flights are in progress.
    #[must_use]
    pub fn in_progress(&self) -> usize {
        self.engine.table.len()
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn LeaseBackend> {
        &self.engine.backend
    }

    pub(crate) const fn of(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The process's engine.
    ///
    /// # Panics
    /// If nothing was installed and the environment asks for a backend that must be.
    pub(crate) fn with_default<T>(f: impl FnOnce(&Self) -> T) -> T {
        f(PROCESS.get_or_init(|| match Self::from_env() {
            Ok(flights) => flights,
            // A fleet that quietly ran on memory would load once per process and serve what others invalidated.
            Err(error) => refuse(&error),
        }))
    }
}

/// The environment asks for an engine that was not installed: nothing sensible can be done with the call.
#[cold]
fn refuse(error: &ConfigError) -> ! {
    panic!("no engine was installed, and the environment asks for another than memory: {error}")
}

/// There was an engine already.
pub struct InstallError(());

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the process has an engine already: install one at start-up, before the first annotated call",
        )
    }
}

/// With its sentence, as it is what a `main` that ends with this error shows.
impl fmt::Debug for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InstallError").field(&format_args!("{self}")).finish()
    }
}

impl std::error::Error for InstallError {}

impl fmt::Debug for SingleFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SingleFlight").field(&self.engine).finish()
    }
}
