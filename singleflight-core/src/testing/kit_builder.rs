//! How a kit is made.

use std::fmt;
use std::sync::Arc;

use super::kit::Common;
use super::{BytesBackend, Kit};
use crate::backend::{LeaseBackend, MemoryBackend};
use crate::builder::SingleFlightBuilder;
use crate::clock::Clock;

pub(super) type Settings = Box<dyn Fn(SingleFlightBuilder) -> SingleFlightBuilder + Send + Sync>;
type MakeStore = Box<dyn FnOnce(Clock) -> Arc<dyn LeaseBackend>>;

/// Makes a [`Kit`].
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use singleflight_core::MemoryBackend;
/// use singleflight_core::testing::Kit;
///
/// let near = Kit::builder().bytes().engine(|engine| engine.near(100, Duration::from_secs(5))).build();
/// let small = Kit::builder()
///     .store(|clock| Arc::new(MemoryBackend::builder().capacity(10).clock(clock).build()))
///     .build();
/// # drop((near, small));
/// ```
#[must_use]
pub struct KitBuilder {
    store: MakeStore,
    tokio_time: bool,
    settings: Settings,
}

impl KitBuilder {
    pub(super) fn new() -> Self {
        let store = |clock| Arc::new(MemoryBackend::builder().clock(clock).build()) as Arc<dyn LeaseBackend>;
        Self { store: Box::new(store), tokio_time: false, settings: Box::new(|builder| builder) }
    }

    /// Keeps values as bytes, so that they go through serde as they would on their way to a server.
    pub fn bytes(self) -> Self {
        self.store(|clock| Arc::new(BytesBackend::new(clock)))
    }

    /// Keeps values in a store of your own, made for the kit's clock. One that does not take a clock, as a server does
    /// not, needs [`tokio_time`](Self::tokio_time).
    pub fn store(mut self, make: impl FnOnce(Clock) -> Arc<dyn LeaseBackend> + 'static) -> Self {
        self.store = Box::new(make);
        self
    }

    /// Goes by tokio's time instead of a clock of its own: real time, or paused.
    pub fn tokio_time(mut self) -> Self {
        self.tokio_time = true;
        self
    }

    /// What else the engines are made with: a near cache, a codec, an observer.
    pub fn engine(
        mut self,
        settings: impl Fn(SingleFlightBuilder) -> SingleFlightBuilder + Send + Sync + 'static,
    ) -> Self {
        self.settings = Box::new(settings);
        self
    }

    /// The kit.
    #[must_use]
    pub fn build(self) -> Kit {
        let Self { store, tokio_time, settings } = self;
        let (clock, hand) = if tokio_time {
            (Clock::system(), None)
        } else {
            let (clock, hand) = Clock::manual();
            (clock, Some(hand))
        };
        let store = store(clock.clone());
        Kit::of(Arc::new(Common { store, clock, hand, settings, fleet: Default::default() }))
    }
}

impl fmt::Debug for KitBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KitBuilder").field("tokio_time", &self.tokio_time).finish_non_exhaustive()
    }
}
