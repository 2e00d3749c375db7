//! Spans and events for the [`tracing`](https://docs.rs/tracing) crate, under the target `singleflight`; nothing where the
//! feature is off.

#[cfg(feature = "tracing")]
pub(crate) use on::{FlightSpan, event};

#[cfg(not(feature = "tracing"))]
pub(crate) use off::FlightSpan;

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
