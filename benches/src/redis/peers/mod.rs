//! Those that keep their values on the server, a file each.

mod amalgam;
mod cached;
mod hitbox;
mod ours;
mod recipe;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use self::amalgam::Amalgam;
use self::cached::Cached;
use self::hitbox::Hitbox;
use self::ours::Ours;
use self::recipe::{Insistent, Recipe};
use super::source::{Answer, Source};

/// How long values are kept.
const TTL: Duration = Duration::from_secs(300);

/// How long a lease lasts that nobody renews.
pub(super) const LEASE: Duration = Duration::from_millis(1500);

/// Loads are counted here, and a busy machine is not to add some: so long for an answer of the server, where that can
/// be said. A service takes the defaults.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

type Opened<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A cache on a server, as its users would use it.
trait Shared: Send + Sync + Sized + 'static {
    /// With connections of its own.
    fn connect(url: &str) -> impl Future<Output = Opened<Self>> + Send;

    /// The value of a key, loaded if need be.
    fn get(&self, key: u64, source: Source) -> impl Future<Output = Answer> + Send;
}

/// The same, for lists of them.
pub(super) trait AnyShared: Send + Sync {
    fn get(self: Arc<Self>, key: u64, source: Source) -> BoxFuture<'static, Answer>;
}

impl<S: Shared> AnyShared for S {
    fn get(self: Arc<Self>, key: u64, source: Source) -> BoxFuture<'static, Answer> {
        Box::pin(async move { Shared::get(&*self, key, source).await })
    }
}

/// Who is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The attribute.
    Ours,
    /// Five commands by hand.
    Recipe,
    /// The same, whose waiters try for the lock again.
    Insistent,
    /// `cached`.
    Cached,
    /// `hitbox`.
    Hitbox,
    /// `amalgam-cache`.
    Amalgam,
    /// The same without its values in memory: with them a hit asks no server.
    AmalgamRemote,
}

impl Kind {
    /// Whose calls all ask the server, ours first. The recipe is one and the same for one caller.
    pub(super) const ALONE: [Self; 5] =
        [Self::Ours, Self::Recipe, Self::Cached, Self::Hitbox, Self::AmalgamRemote];

    /// As they are used, ours first.
    pub(super) const HERDS: [Self; 6] =
        [Self::Ours, Self::Recipe, Self::Insistent, Self::Cached, Self::Hitbox, Self::Amalgam];

    /// Those with a lease that all processes know of.
    pub(super) const LEASED: [Self; 4] = [Self::Ours, Self::Recipe, Self::Insistent, Self::Amalgam];

    /// For readers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "`#[single_flight]`",
            Self::Recipe => "recipe of five commands",
            Self::Insistent => "the recipe, waiters try for the lock again",
            Self::Cached => "`#[concurrent_cached]` of cached",
            Self::Hitbox => "hitbox `#[cached]`",
            Self::Amalgam => "amalgam-cache `get_or_set`",
            Self::AmalgamRemote => "amalgam-cache `get_or_set`, its memory skipped",
        }
    }

    /// Each has a database of its own, by which its commands are told from those of others.
    pub(super) const fn database(self) -> u8 {
        self as u8 + 1
    }

    /// The pattern of the names of its leases.
    pub(super) const fn leases(self) -> &'static str {
        match self {
            Self::Ours => "sf:{row:*}l",
            Self::Recipe | Self::Insistent => "row:*:lock",
            Self::Amalgam | Self::AmalgamRemote => "*amalgam/*/lease/*",
            Self::Cached | Self::Hitbox => "it has none",
        }
    }

    /// Connects.
    pub(super) async fn connect(self, url: &str) -> Opened<Arc<dyn AnyShared>> {
        Ok(match self {
            Self::Ours => Arc::new(Ours::connect(url).await?),
            Self::Recipe => Arc::new(Recipe::connect(url).await?),
            Self::Insistent => Arc::new(Insistent::connect(url).await?),
            Self::Cached => Arc::new(Cached::connect(url).await?),
            Self::Hitbox => Arc::new(Hitbox::connect(url).await?),
            Self::Amalgam => Arc::new(Amalgam::<true>::connect(url).await?),
            Self::AmalgamRemote => Arc::new(Amalgam::<false>::connect(url).await?),
        })
    }
}
