//! What was counted, held against what a test expects.

use std::fmt::Write as _;

use crate::observe::{Figures, Statistics, names};

/// What a function's calls came to, to be held against what they should; made by [`Kit::assert`](super::Kit::assert).
///
/// Each method is named for one of the [`Figures`], panics if it differs from what is expected, and shows then all that
/// was counted.
///
/// ```
/// use singleflight_core::testing::Kit;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let kit = Kit::new();
/// let failed = kit.flights().flight("k").run(|| async { Err::<u64, _>(std::io::Error::other("no row")) }).await;
/// assert!(failed.is_err());
/// kit.assert("flight").fills(1).errors(1).hits(0);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Counted {
    name: Box<str>,
    figures: Figures,
    /// The functions that the name stands for.
    functions: Vec<(&'static str, Figures)>,
}

impl Counted {
    /// # Panics
    /// If no function of this name has been called.
    #[track_caller]
    pub(super) fn of(name: &str, statistics: &Statistics) -> Self {
        let functions = Self::named(name, statistics);
        assert!(!functions.is_empty(), "{}", unknown(name, statistics));
        Self { name: name.into(), figures: statistics.of(name), functions }
    }

    /// # Panics
    /// If a function of this name has been called.
    #[track_caller]
    pub(super) fn none(name: &str, statistics: &Statistics) {
        let functions = Self::named(name, statistics);
        let counted = listed(&functions);
        assert!(functions.is_empty(), "`{name}` was not to be called, and has been:{counted}");
    }

    fn named(name: &str, statistics: &Statistics) -> Vec<(&'static str, Figures)> {
        statistics.functions.iter().filter(|(label, _)| names(name, label)).cloned().collect()
    }

    /// All figures at once, of all functions that the name stands for.
    #[must_use]
    pub const fn figures(&self) -> &Figures {
        &self.figures
    }

    #[track_caller]
    fn check(self, what: &str, counted: u64, expected: u64) -> Self {
        let Self { name, functions, .. } = &self;
        assert!(
            counted == expected,
            "`{name}` was to have {what} = {expected}, and has {what} = {counted}; counted so far:{}",
            listed(functions)
        );
        self
    }
}

macro_rules! counted {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        impl Counted {
            $(
                #[doc = concat!("[`Figures::", stringify!($field), "`] is as expected.")]
                ///
                /// # Panics
                /// If it is not.
                #[track_caller]
                pub fn $field(self, expected: u64) -> Self {
                    let counted = self.figures.$field;
                    self.check(stringify!($field), counted, expected)
                }
            )*
        }

        /// All figures that are counters, by name.
        fn counters(figures: &Figures) -> impl Iterator<Item = (&'static str, u64)> {
            [$((stringify!($field), figures.$field),)*].into_iter()
        }
    };
}

counted! {
    hits,
    near_hits,
    stale,
    fills,
    errors,
    panics,
    follows,
    waits,
    timeouts,
    acquires_granted,
    acquires_held,
    acquires_failed,
    takeovers,
    fenced,
    duplicate_loads,
    failures_shared,
    cooldown_answers,
    refusals,
    defaults,
    degraded,
    renewals,
    foreign,
}

/// A line for each function, with the figures that are not zero.
fn listed(functions: &[(&'static str, Figures)]) -> String {
    let mut lines = String::new();
    for (label, figures) in functions {
        let counted: Vec<_> =
            counters(figures).filter(|(_, n)| *n > 0).map(|(what, n)| format!("{what} = {n}")).collect();
        let counted = if counted.is_empty() { "nothing".to_owned() } else { counted.join(", ") };
        // Writing to a `String` does not fail.
        let _ = write!(lines, "\n  {label}: {counted}");
    }
    lines
}

/// The sentence for a name that fits nothing.
fn unknown(name: &str, statistics: &Statistics) -> String {
    let functions = &statistics.functions;
    let met = if functions.is_empty() {
        "none has, so is the code under test in `scope(..)`, and are the tasks that it spawns?".to_owned()
    } else {
        format!("those that have:{}", listed(functions))
    };
    format!(
        "no function named `{name}` has been called on this engine; {met}\n  (a function is named by its `name`, by its \
         path, or by the end of it behind a `::`; one that is never to be called is for `assert_not_called`)"
    )
}
