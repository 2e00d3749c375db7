//! Spans and events for the [`tracing`](https://docs.rs/tracing) crate, under the target `singleflight`; nothing where the
//! feature is off.

#[cfg(feature = "tracing")]
pub(crate) use on::{FlightSpan, backend_away, backend_back, event, invalidation_unsent};

#[cfg(not(feature = "tracing"))]
pub(crate) use off::{FlightSpan, backend_away, backend_back, invalidation_unsent};

#[cfg(feature = "tracing")]
mod on {
    use tracing::{Span, debug, error, field, info, info_span, warn};

    use crate::observe::Event;
    use crate::tell::Ears;

    const TARGET: &str = "singleflight";

    /// The span of one fill: its body's own spans and events lie in it.
    #[derive(Debug)]
    pub(crate) struct FlightSpan(Span);

    impl FlightSpan {
        pub(crate) fn new(ears: &Ears, site: &'static str, key: &str) -> Self {
            let key = ears.traced(key);
            Self(info_span!(target: TARGET, "flight", function = site, key, outcome = field::Empty))
        }

        pub(crate) fn around<T>(&self, poll: impl FnOnce() -> T) -> T {
            self.0.in_scope(poll)
        }

        /// Says how the fill ended.
        pub(crate) fn end(&self, outcome: &'static str) {
            self.0.record("outcome", outcome);
        }
    }

    /// An outage begins.
    pub(crate) fn backend_away() {
        warn!(target: TARGET, "the backend is away: until it is back, this process loads for itself");
    }

    /// An outage has ended.
    pub(crate) fn backend_back() {
        info!(target: TARGET, "the backend is back");
    }

    /// The first key of an outage is to be sent later, or cannot even be remembered.
    pub(crate) fn invalidation_unsent(remembered: bool) {
        if remembered {
            warn!(target: TARGET, "what is invalidated now is remembered, and sent before the backend is used again");
        } else {
            error!(
                target: TARGET,
                "too much was invalidated during this outage: the rest is seen again until its TTL is over"
            );
        }
    }

    pub(crate) fn event(function: &'static str, key: Option<&str>, event: &Event<'_>) {
        match event {
            Event::Filled { took, ok } => debug!(target: TARGET, function, key, ?took, ok, "filled"),
            Event::Stale { age } => debug!(target: TARGET, function, key, ?age, "answered with a stale copy"),
            Event::TakenOver => {
                info!(target: TARGET, function, key, "took over a load that ended without a value")
            }
            Event::Fenced => warn!(
                target: TARGET, function, key,
                "the lease was lost: the value went to its own caller and was not stored"
            ),
            Event::Outdated => debug!(
                target: TARGET, function, key,
                "invalidated while it was loaded: the value went to those who had waited for it, and was not stored"
            ),
            Event::Degraded(cause) => {
                warn!(target: TARGET, function, key, error = %cause, "the backend could not do a step");
            }
            Event::Undecodable(cause) => {
                warn!(target: TARGET, function, key, error = %cause, "a stored value could not be decoded");
            }
            Event::Unencodable(cause) => {
                error!(target: TARGET, function, key, error = %cause, "a value could not be encoded, and was not stored");
            }
            Event::Foreign => warn!(
                target: TARGET, function, key,
                "another function stores its values under the same key: give one of them another template, or both one `name`"
            ),
            Event::LeaseShort { p99, write } => warn!(
                target: TARGET, function, key, ?p99, lock_ttl_ms = write.as_millis(),
                "the lease TTL is shorter than the fills: write this one instead"
            ),
            Event::TimedOut => warn!(target: TARGET, function, key, "a wait budget ran out"),
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod off {
    use crate::tell::Ears;

    pub(crate) const fn backend_away() {}

    pub(crate) const fn backend_back() {}

    pub(crate) const fn invalidation_unsent(_: bool) {}

    /// The span of one fill.
    #[derive(Debug)]
    pub(crate) struct FlightSpan;

    #[expect(clippy::unused_self, reason = "the same calls as with the feature")]
    impl FlightSpan {
        pub(crate) const fn new(_: &Ears, _: &'static str, _: &str) -> Self {
            Self
        }

        pub(crate) fn around<T>(&self, poll: impl FnOnce() -> T) -> T {
            poll()
        }

        pub(crate) const fn end(&self, _: &'static str) {}
    }
}
