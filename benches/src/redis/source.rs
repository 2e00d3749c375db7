//! What callers of a shared cache ask for: a text.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::load::Failure;

/// The end of a call.
pub(super) type Answer = Result<String, Failure>;

/// A load that a caller brings along, should there be nothing to find.
#[derive(Clone)]
pub(super) struct Source(Arc<dyn Fn() -> BoxFuture<'static, Answer> + Send + Sync>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl Source {
    /// A load that runs this, anew each time.
    pub(super) fn of<F>(run: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(run())))
    }

    /// A load that returns this at once.
    pub(super) fn ready(text: &Arc<str>) -> Self {
        let text = Arc::clone(text);
        Self::of(move || std::future::ready(Ok(text.to_string())))
    }

    /// Runs it, for the key that a real load would need.
    pub(super) async fn load(&self, _key: u64) -> Answer {
        (self.0)().await
    }
}
