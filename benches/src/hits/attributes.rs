//! Attributes, ours and others'. They stand on functions of one type each, so that these come in fours.

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hitbox::concurrency::BroadcastConcurrencyManager;
use hitbox::policy::{ConcurrencyLimit, PolicyConfig};
use hitbox_backend::format::BincodeFormat;
use hitbox_moka::MokaBackend;
use singleflight_core::{MemoryBackend, SingleFlight, single_flight};

use super::{Keys, Kind, Row, Small, User, Way};
use crate::load::Failure;
use crate::peers::CAPACITY;

macro_rules! functions {
    ($module:ident, $row:ty, $by_number:literal, $by_name:literal) => {
        mod $module {
            use super::*;

            #[single_flight(key = $by_number, ttl = 300, lock_ttl_ms = 1500)]
            pub(super) async fn ours_by_number(id: u64) -> Result<$row, Failure> {
                Ok(Row::make(id))
            }

            #[single_flight(key = $by_name, ttl = 300, lock_ttl_ms = 1500)]
            pub(super) async fn ours_by_name(id: &str) -> Result<$row, Failure> {
                Ok(Row::make(id.len() as u64))
            }

            #[single_flight(key = $by_number, ttl = 300, lock_ttl_ms = 1500, flights = quick())]
            pub(super) async fn quick_by_number(id: u64) -> Result<$row, Failure> {
                Ok(Row::make(id))
            }

            #[single_flight(key = $by_name, ttl = 300, lock_ttl_ms = 1500, flights = quick())]
            pub(super) async fn quick_by_name(id: &str) -> Result<$row, Failure> {
                Ok(Row::make(id.len() as u64))
            }

            #[::cached::macros::cached(max_size = 10_000, ttl_secs = 300)]
            pub(super) async fn cached_by_number(id: u64) -> Result<$row, Failure> {
                Ok(Row::make(id))
            }

            #[::cached::macros::cached(
                        max_size = 10_000, ttl_secs = 300, key = "String", convert = { id.to_owned() }
                    )]
            pub(super) async fn cached_by_name(id: &str) -> Result<$row, Failure> {
                Ok(Row::make(id.len() as u64))
            }

            #[::cached::macros::cached(max_size = 10_000, ttl_secs = 300, sync_writes = "by_key")]
            pub(super) async fn in_turn_by_number(id: u64) -> Result<$row, Failure> {
                Ok(Row::make(id))
            }

            #[::cached::macros::cached(
                        max_size = 10_000, ttl_secs = 300, key = "String", convert = { id.to_owned() },
                        sync_writes = "by_key"
                    )]
            pub(super) async fn in_turn_by_name(id: &str) -> Result<$row, Failure> {
                Ok(Row::make(id.len() as u64))
            }

            #[::cached::macros::concurrent_cached(max_size = 10_000, ttl_secs = 300)]
            pub(super) async fn sharded_by_number(id: u64) -> Result<$row, Failure> {
                Ok(Row::make(id))
            }

            #[::cached::macros::concurrent_cached(
                        max_size = 10_000, ttl_secs = 300, key = "String", convert = { id.to_owned() }
                    )]
            pub(super) async fn sharded_by_name(id: &str) -> Result<$row, Failure> {
                Ok(Row::make(id.len() as u64))
            }

            #[hitbox_fn::cached]
            pub(super) async fn hitbox_by_number(id: u64) -> Result<$row, Failure> {
                Ok(Row::make(id))
            }

            #[hitbox_fn::cached]
            pub(super) async fn hitbox_by_name(id: String) -> Result<$row, Failure> {
                Ok(Row::make(id.len() as u64))
            }

            type Hitbox = hitbox_fn::Cache<
                MokaBackend<BincodeFormat>,
                BroadcastConcurrencyManager<Result<$row, Failure>>,
            >;

            pub(super) fn hitbox() -> &'static Hitbox {
                static CACHE: OnceLock<Hitbox> = OnceLock::new();
                CACHE.get_or_init(|| {
                    let one = ConcurrencyLimit::new(1).expect("one is within its bounds");
                    let backend =
                        MokaBackend::builder().max_entries(CAPACITY.into()).value_format(BincodeFormat);
                    let ttl = Duration::from_secs(300);
                    hitbox_fn::Cache::builder()
                        .backend(backend.build())
                        .policy(PolicyConfig::builder().ttl(ttl).concurrency(one).build())
                        .concurrency_manager(BroadcastConcurrencyManager::new())
                        .build()
                })
            }

            pub(super) fn ours(keys: &'static Keys, kind: Kind) -> Vec<Way> {
                let (name, over_quick) = ("`#[single_flight]`", "`#[single_flight]` over quick_cache");
                match kind {
                    Kind::Number => vec![
                        Way::new(name, move |i| ours_by_number(keys.numbers[i])),
                        Way::new(over_quick, move |i| quick_by_number(keys.numbers[i])),
                    ],
                    Kind::Name => vec![
                        Way::new(name, move |i| ours_by_name(&keys.names[i])),
                        Way::new(over_quick, move |i| quick_by_name(&keys.names[i])),
                    ],
                }
            }

            pub(super) fn theirs(keys: &'static Keys, kind: Kind) -> Vec<Way> {
                let plain = "`#[cached]`";
                let in_turn = "`#[cached(sync_writes = \"by_key\")]`";
                let sharded = "`#[concurrent_cached]`, does not coalesce";
                let hit = "hitbox `#[cached]`";
                match kind {
                    Kind::Number => vec![
                        Way::new(plain, move |i| cached_by_number(keys.numbers[i])),
                        Way::new(in_turn, move |i| in_turn_by_number(keys.numbers[i])),
                        Way::new(sharded, move |i| sharded_by_number(keys.numbers[i])),
                        Way::new(hit, move |i| async move {
                            hitbox_by_number(keys.numbers[i]).cache(hitbox()).await
                        }),
                    ],
                    Kind::Name => vec![
                        Way::new(plain, move |i| cached_by_name(&keys.names[i])),
                        Way::new(in_turn, move |i| in_turn_by_name(&keys.names[i])),
                        Way::new(sharded, move |i| sharded_by_name(&keys.names[i])),
                        Way::new(hit, move |i| async move {
                            hitbox_by_name(keys.names[i].clone()).cache(hitbox()).await
                        }),
                    ],
                }
            }
        }
    };
}

functions!(small, Small, "small:<id>", "small_named:<id>");
functions!(user, User, "user:<id>", "user_named:<id>");

/// An engine whose entries are in quick_cache.
fn quick() -> &'static SingleFlight {
    static FLIGHTS: OnceLock<SingleFlight> = OnceLock::new();
    FLIGHTS.get_or_init(|| {
        SingleFlight::builder().backend(Arc::new(MemoryBackend::builder().quick().build())).build()
    })
}

/// Whether the type asked for is the small one; there are two.
fn is_small<R: Row>() -> bool {
    let row: &dyn Any = &R::make(0);
    row.is::<Small>()
}

pub(super) fn ours<R: Row>(keys: &'static Keys, kind: Kind) -> Vec<Way> {
    if is_small::<R>() { small::ours(keys, kind) } else { user::ours(keys, kind) }
}

pub(super) fn theirs<R: Row>(keys: &'static Keys, kind: Kind) -> Vec<Way> {
    if is_small::<R>() { small::theirs(keys, kind) } else { user::theirs(keys, kind) }
}
