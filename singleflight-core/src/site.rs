//! One annotated function, as the engine and its statistics see it.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::identity::{Identity, Place};

/// One call site: the function that carries an attribute. Made in a `static` by the attribute.
pub struct Site {
    name: &'static str,
    explicit: bool,
    default: bool,
    identity: Identity,
    index: OnceLock<usize>,
}

impl Site {
    /// A site labelled with the function's path.
    #[must_use]
    pub const fn new(path: &'static str) -> Self {
        Self {
            name: path,
            explicit: false,
            default: false,
            identity: Identity::new(),
            index: OnceLock::new(),
        }
    }

    /// A site with an explicit name; sites of one name and one value type share values.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self { name, explicit: true, default: false, identity: Identity::new(), index: OnceLock::new() }
    }

    /// The same for a function that has a default to answer with.
    #[must_use]
    pub const fn with_default(mut self) -> Self {
        self.default = true;
        self
    }

    /// Whether the function has a default; without one, callers told to take it wait or load instead.
    #[must_use]
    pub const fn has_default(&self) -> bool {
        self.default
    }

    /// The label in statistics and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// A small number that is this site's alone in this process.
    pub(crate) fn index(&self) -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        *self.index.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn identity(&self, place: Place, type_name: &'static str) -> u32 {
        self.identity.get(place, self.explicit.then_some(self.name), type_name)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Site").field(&self.name).finish()
    }
}
