//! How keys are hashed where this process alone looks them up.

/// Seeded at random in each map, so that keys that users choose cannot be made to collide.
pub(crate) type Hasher = foldhash::quality::RandomState;

/// A map by key.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, Hasher>;
