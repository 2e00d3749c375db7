//! How an engine is made.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::SingleFlight;
use crate::backend::{LeaseBackend, Medium, MemoryBackend, MemoryBuilder};
use crate::clock::Clock;
use crate::codec::Codec;
use crate::cooling::Cooling;
use crate::engine::Engine;
use crate::fill_times::AutoLease;
use crate::flight::FlightTable;
use crate::lease::Keeper;
use crate::link::Link;
use crate::near::{Near, NearTerms};
use crate::observe::{Observer, Sites};
use crate::tell::Ears;
use crate::top_keys::TopKeys;

/// Makes a [`SingleFlight`].
#[derive(Debug)]
#[must_use]
pub struct SingleFlightBuilder {
    backend: Option<Arc<dyn LeaseBackend>>,
    memory: MemoryBuilder,
    namespace: Box<str>,
    codec: Codec,
    clock: Clock,
    ears: Ears,
    top_keys: Option<usize>,
    jitter: bool,
    hold: Duration,
    auto: AutoLease,
    near: Option<(u64, Duration)>,
    near_unheard: Duration,
}

impl Default for SingleFlightBuilder {
    fn default() -> Self {
        Self {
            backend: None,
            memory: MemoryBackend::builder(),
            namespace: Box::default(),
            codec: Codec::default(),
            clock: Clock::system(),
            ears: Ears::default(),
            top_keys: None,
            jitter: true,
            hold: Duration::from_secs(1),
            auto: AutoLease::new(),
            near: None,
            near_unheard: Duration::from_secs(2),
        }
    }
}

impl SingleFlightBuilder {
    /// Where values and leases live, whatever was chosen before, by the environment for example. Default: in this
    /// process, as [`memory`](Self::memory) says.
    pub fn backend(mut self, backend: Arc<dyn LeaseBackend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// How values are kept in this process: all of them where no other backend is chosen, and beside one those of `local`
    /// functions, and for a moment those that are loaded while it is away. Default: [`MemoryBackend::builder`], which
    /// keeps 10,000 entries. Its time is the engine's, see [`clock`](Self::clock).
    ///
    /// ```
    /// use singleflight_core::{MemoryBackend, SingleFlight};
    ///
    /// let memory = MemoryBackend::builder().capacity(100_000);
    /// let flights = SingleFlight::builder().memory(memory).build();
    /// # drop(flights);
    /// ```
    pub fn memory(mut self, memory: MemoryBuilder) -> Self {
        self.memory = memory;
        self
    }

    /// Goes before every key on backends that other services may use too. Default: empty.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = namespace.replace('%', "%25").replace(':', "%3A").into();
        self
    }

    /// How values are written for backends that keep bytes. Default: MessagePack.
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Where the engine (and the memory backend, if none is given) gets its time and its random numbers.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Who hears of what happens.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.ears.observer = Some(observer);
        self
    }

    /// Whether TTLs are shortened at random, so that keys filled together do not expire together. Default: yes.
    pub fn jitter(mut self, jitter: bool) -> Self {
        self.jitter = jitter;
        self
    }

    /// The longest time that values loaded while the backend is away are kept in this process. Default: 1 s.
    pub fn degraded_hold(mut self, hold: Duration) -> Self {
        self.hold = hold;
        self
    }

    /// How lease TTLs follow from fill times where none is given. Default: [`AutoLease::new`].
    pub fn auto_lease(mut self, auto: AutoLease) -> Self {
        self.auto = auto;
        self
    }

    /// Keeps up to about `capacity` values in this process, decoded, in front of a backend that keeps bytes: a hit on
    /// such a copy costs no round trip. Default: none are kept.
    ///
    /// A copy is fresh for no longer than the backend said, and never for longer than `max_age`. It is dropped when the
    /// backend tells that its key was invalidated or filled elsewhere, which takes as long as a message takes to arrive;
    /// should the message be lost, the copy is seen until `max_age` is over. This process's own invalidations drop it
    /// before they return. Stale copies are never kept.
    ///
    /// A backend that keeps values in this process already, or nothing, has no use for copies: with one, this does
    /// nothing, so that the same program runs on a server and without, and [`Statistics::near`](crate::observe::Statistics::near)
    /// is `None`.
    pub fn near(mut self, capacity: u64, max_age: Duration) -> Self {
        self.near = Some((capacity, max_age));
        self
    }

    /// How long copies live while the backend tells nothing, because the subscription was lost or there is none.
    /// Default: 2 s.
    pub fn near_unheard(mut self, max_age: Duration) -> Self {
        self.near_unheard = max_age;
        self
    }

    /// Counts which keys are loaded most, for [`Statistics::top_keys`](crate::observe::Statistics::top_keys), on a list of
    /// at most so many. Default: none are counted.
    pub fn top_keys(mut self, keys: usize) -> Self {
        self.top_keys = Some(keys);
        self
    }

    /// Reports to the recorder of the `metrics` crate; see [`metrics`](crate::metrics) for the names.
    ///
    /// Built within a runtime, the engine hands over what it counts once a second; else
    /// [`SingleFlight::report_metrics`] does.
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self) -> Self {
        self.ears.metrics = true;
        self
    }

    /// Whether traces name keys, which may be personal data and are not bounded in number. Default: no.
    #[cfg(feature = "tracing")]
    pub fn trace_keys(mut self, keys: bool) -> Self {
        self.ears.trace_keys = keys;
        self
    }

    /// The engine.
    #[must_use]
    pub fn build(self) -> SingleFlight {
        let Self { clock, ears, near, .. } = self;
        let memory = self.memory.clock(clock.clone());
        let backend = self.backend.unwrap_or_else(|| Arc::new(memory.clone().build()));
        let table = FlightTable::new(Keeper::new(clock.clone()), clock.now());
        let (own_link, sites) = (Link::new(), Sites::new());
        let near = near.filter(|_| backend.medium() == Medium::Bytes).map(|(capacity, max_age)| {
            let unheard = self.near_unheard.min(max_age);
            Near::new(NearTerms { capacity, max_age, unheard }, clock.clone())
        });
        let engine = Engine {
            backend,
            memory,
            local: OnceLock::new(),
            near,
            own_link,
            namespace: self.namespace,
            codec: self.codec,
            clock,
            ears,
            top_keys: self.top_keys.map(TopKeys::new),
            #[cfg(feature = "metrics")]
            reporter: None,
            sites,
            table,
            jitter: self.jitter,
            hold: self.hold,
            auto: self.auto,
            cooling: Cooling::default(),
        };
        SingleFlight::of(finish(engine))
    }
}

#[cfg(not(feature = "metrics"))]
fn finish(engine: Engine) -> Arc<Engine> {
    Arc::new(engine)
}

/// Begins to report.
#[cfg(feature = "metrics")]
fn finish(mut engine: Engine) -> Arc<Engine> {
    if !engine.ears.metrics {
        return Arc::new(engine);
    }
    crate::metrics::describe();
    Arc::new_cyclic(|weak| {
        engine.reporter = crate::metrics::Reporter::start(weak.clone());
        engine
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FlightError;
    use crate::policy::Policy;

    #[tokio::test]
    async fn values_are_kept_in_this_process_as_memory_says() {
        let policy = Policy::new().ttl(Duration::from_secs(30));
        for (capacity, fills) in [(0, 2), (1, 1)] {
            let memory = MemoryBackend::builder().capacity(capacity);
            let flights = SingleFlight::builder().memory(memory).build();
            for _ in 0..2 {
                let load = flights.flight("k").policy(policy).run(async || Ok::<u8, FlightError>(7));
                assert_eq!(load.await.unwrap(), 7);
            }
            assert_eq!(flights.statistics().total.fills, fills);
        }
    }
}
