//! Who hears of what happens in a process of a race.

use async_trait::async_trait;

use crate::wire::What;

/// Takes what happened, with the time at which it did.
#[async_trait]
pub(crate) trait Tell: Send + Sync {
    /// Never blocks for long: called from wherever it happens.
    fn tell(&self, what: What);

    /// Waits while more has been told than is being fetched.
    async fn room(&self);
}

/// Tells nobody.
#[derive(Debug)]
pub(crate) struct Silence;

#[async_trait]
impl Tell for Silence {
    fn tell(&self, _what: What) {}

    async fn room(&self) {}
}
