//! How long records have left, as the server said a moment ago: most hits need not ask again.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use singleflight_core::backend::Token;

/// What the server said of the TTLs of records that are read often.
///
/// A record's TTL is set when it is published and never again, so that what the server said of it holds, less the time
/// that has passed, for as long as the same grant's record is there. The clock is this process's, for no longer than
/// [`GOOD_FOR`](Self::GOOD_FOR), and only for freshness: whether the record is there at all, the server says each time.
pub(crate) struct Ttls {
    /// Names share places; a grant is nobody else's, so that sharing costs a question and never an answer.
    places: Box<[Mutex<Option<Said>>]>,
    hasher: RandomState,
}

/// What the server said of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Whose record it was.
    pub(crate) grant: Token,
    /// When the question was sent: the answer is no older.
    pub(crate) asked: Instant,
    /// How long it had left.
    pub(crate) left: Duration,
}

impl Said {
    /// How long the record has left by `now`; `None` if nothing.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        let left = self.left.checked_sub(now.saturating_duration_since(self.asked));
        left.filter(|left| !left.is_zero())
    }
}

impl Ttls {
    /// How long an answer is relied on. A process that is suspended with its machine does not see time pass; this is how
    /// much of its own time it may then take a stale value for a fresh one.
    const GOOD_FOR: Duration = Duration::from_secs(1);
    const PLACES: usize = 1024;

    pub(crate) fn new() -> Self {
        let places = std::iter::repeat_with(|| Mutex::new(None)).take(Self::PLACES).collect();
        Self { places, hasher: RandomState::new() }
    }

    /// What was said of the record of this name, or of one that shares its place, if that was a moment ago.
    pub(crate) fn recall(&self, name: &str, now: Instant) -> Option<Said> {
        let said = *self.place(name);
        said.filter(|said| now.saturating_duration_since(said.asked) < Self::GOOD_FOR)
    }

    pub(crate) fn note(&self, name: &str, said: Said) {
        *self.place(name) = Some(said);
    }

    fn place(&self, name: &str) -> MutexGuard<'_, Option<Said>> {
        let hash = self.hasher.hash_one(name);
        // Below the number of places, so that it fits.
        let at = usize::try_from(hash % self.places.len() as u64).unwrap_or(0);
        self.places[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ttls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ttls").field("places", &self.places.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(asked: Instant) -> Said {
        Said { grant: Token::new([7; 16]), asked, left: Duration::from_millis(300) }
    }

    #[test]
    fn an_answer_is_good_for_a_second() {
        let (ttls, asked) = (Ttls::new(), Instant::now());
        assert_eq!(ttls.recall("a", asked), None);
        ttls.note("a", said(asked));
        let almost = Duration::from_millis(999);
        assert_eq!(ttls.recall("a", asked + almost), Some(said(asked)));
        assert_eq!(ttls.recall("a", asked + Duration::from_secs(1)), None);
    }

    #[test]
    fn what_is_left_is_less_the_time_since_the_question_was_sent() {
        let asked = Instant::now();
        let left = |later| said(asked).left(asked + Duration::from_millis(later));
        assert_eq!(left(0), Some(Duration::from_millis(300)));
        assert_eq!(left(100), Some(Duration::from_millis(200)));
        assert_eq!((left(300), left(301)), (None, None));
    }
}
