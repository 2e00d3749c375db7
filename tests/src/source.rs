//! What the tests load: a row somewhere, whose reads are counted and can be made to stand still.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use singleflight_core::{FlightError, FlightErrorKind, Site};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The function that loads it.
pub static SITE: Site = Site::new("shop::rows::find");

/// What can go wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// The source said so.
    #[error("no such row")]
    NoRow,
    /// The engine said so.
    #[error(transparent)]
    Flight(#[from] FlightError),
}

impl LoadError {
    /// The kind of the engine's error, if it is one.
    #[must_use]
    pub fn kind(&self) -> Option<FlightErrorKind> {
        match self {
            Self::NoRow => None,
            Self::Flight(error) => Some(error.kind()),
        }
    }
}

/// A row.
#[derive(Debug)]
pub struct Source {
    value: AtomicU64,
    failing: AtomicBool,
    panicking: AtomicBool,
    takes: Duration,
    /// When each load began.
    loads: Mutex<Vec<Instant>>,
    running: AtomicUsize,
    most: AtomicUsize,
    /// One permit for each load that has begun and was not asked about.
    arrivals: Semaphore,
    /// One permit for each load that may end; `None` where they all may.
    exits: Option<Semaphore>,
}

impl Source {
    fn with(takes: Duration, exits: Option<Semaphore>) -> Arc<Self> {
        Arc::new(Self {
            value: AtomicU64::new(1),
            failing: AtomicBool::new(false),
            panicking: AtomicBool::new(false),
            takes,
            loads: Mutex::default(),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            arrivals: Semaphore::new(0),
            exits,
        })
    }

    /// A row that is read at once. Its value is 1.
    #[must_use]
    pub fn quick() -> Arc<Self> {
        Self::with(Duration::ZERO, None)
    }

    /// A row whose reads take this long.
    #[must_use]
    pub fn slow(takes: Duration) -> Arc<Self> {
        Self::with(takes, None)
    }

    /// A row whose reads end when [let through](Self::let_through).
    #[must_use]
    pub fn gated() -> Arc<Self> {
        Self::with(Duration::ZERO, Some(Semaphore::new(0)))
    }

    /// Reads the row: as it was when the read began.
    ///
    /// # Errors
    /// If it was told to fail.
    ///
    /// # Panics
    /// If it was told to.
    pub async fn load(&self) -> Result<u64, LoadError> {
        struct Running<'a>(&'a AtomicUsize);
        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let value = self.value.load(Ordering::SeqCst);
        self.times().push(Instant::now());
        self.most.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _running = Running(&self.running);
        self.arrivals.add_permits(1);
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        if let Some(exits) = &self.exits {
            exits.acquire().await.expect("never closed").forget();
        }
        if self.panicking.load(Ordering::SeqCst) {
            // Without the panic hook, which prints a backtrace: on a busy machine that stops the test's one thread for
            // longer than a lease.
            std::panic::resume_unwind(Box::new("the source panics"));
        }
        if self.failing.load(Ordering::SeqCst) { Err(LoadError::NoRow) } else { Ok(value) }
    }

    /// Changes the row.
    pub fn set(&self, value: u64) {
        self.value.store(value, Ordering::SeqCst);
    }

    /// Makes reads fail, those that have begun included.
    pub fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Makes reads panic, those that have begun included.
    pub fn panic(&self, panicking: bool) {
        self.panicking.store(panicking, Ordering::SeqCst);
    }

    /// Lets so many reads end.
    pub fn let_through(&self, reads: usize) {
        self.exits.as_ref().expect("a gated source").add_permits(reads);
    }

    /// Waits until one more read has begun.
    pub async fn began(&self) {
        let arrival = tokio::time::timeout(Duration::from_secs(600), self.arrivals.acquire());
        arrival.await.expect("a read begins").expect("never closed").forget();
    }

    /// How often it has been read.
    #[must_use]
    pub fn loads(&self) -> usize {
        self.times().len()
    }

    /// When each of its reads began.
    #[must_use]
    pub fn load_times(&self) -> Vec<Instant> {
        self.times().clone()
    }

    fn times(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most reads that went on at once.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}
