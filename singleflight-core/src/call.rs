//! One call of one function: the typed face of the engine.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::SingleFlight;
use crate::identity::Place;
use crate::policy::Policy;
use crate::site::Site;
use crate::typed::Typed;

/// A call with everything the engine needs to know of it.
pub struct Call<'a, R> {
    typed: &'a dyn Typed<R>,
    site: &'static Site,
    place: Place,
    policy: &'a Policy,
    key: &'a str,
    flights: Option<&'a SingleFlight>,
}

/// What a call that found no fresh value is to do.
pub enum Entered<'a, R> {
    /// Return this.
    Answer(R),
    /// Return the function's default.
    Default,
    /// Run the body.
    Fill(Fill<'a, R>),
}

/// The right and duty to run the body.
pub struct Fill<'a, R> {
    typed: &'a dyn Typed<R>,
}

impl<'a, R> Call<'a, R> {
    /// A call of `site` for `key`, on `flights` or else on the engine in force.
    #[must_use]
    pub fn new(
        typed: &'a dyn Typed<R>,
        site: &'static Site,
        place: Place,
        policy: &'a Policy,
        key: &'a str,
        flights: Option<&'a SingleFlight>,
    ) -> Self {
        Self { typed, site, place, policy, key, flights }
    }

    /// The fresh value, if it can be had without waiting.
    #[must_use]
    pub fn peek(&self) -> Option<R> {
        let _ = (self.typed, self.site, self.place, self.policy, self.key, self.flights);
        None
    }

    /// The right to run the body with nothing looked up, stored or shared.
    ///
    /// What a function without a default does when told to take it, which only a mistake in the engine can bring about.
    #[must_use]
    pub fn alone(&self) -> Fill<'a, R> {
        Fill { typed: self.typed }
    }

    /// Looks for a value, waits for someone else's, or takes on the fill.
    pub async fn enter(&self) -> Entered<'a, R> {
        Entered::Fill(Fill { typed: self.typed })
    }
}

impl<R> Fill<'_, R> {
    /// Runs the body, stores what it gives and answers all who wait.
    pub async fn run<F: Future<Output = R>>(self, body: Pin<&mut F>) -> R {
        let _ = self.typed;
        body.await
    }
}

impl<R> fmt::Debug for Call<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("site", &self.site).field("key", &self.key).finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for Entered<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer(_) => "Answer(..)",
            Self::Default => "Default",
            Self::Fill(_) => "Fill(..)",
        })
    }
}

impl<R> fmt::Debug for Fill<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fill").finish_non_exhaustive()
    }
}
