//! Caches that are called, with keys as users would make them.

use std::time::Duration;

use amalgam::EntryOptions;
use moka::future::Cache as Moka;
use quick_cache::sync::Cache as Quick;
use singleflight_core::SingleFlight;

use super::{Keys, Kind, Row, Way};
use crate::load::Failure;
use crate::peers::CAPACITY;

const TTL: Duration = Duration::from_secs(300);

/// Kept until the process ends, as a cache in a service is.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn moka<K: std::hash::Hash + Eq + Send + Sync + 'static, R: Row>() -> &'static Moka<K, R> {
    keep(Moka::builder().max_capacity(CAPACITY.into()).time_to_live(TTL).build())
}

/// Keys that are rendered already, so that nothing but the look-up is left.
fn ready(keys: &'static Keys, kind: Kind) -> &'static [String] {
    let rendered = match kind {
        Kind::Number => keys.numbers.iter().map(|number| format!("user:{number}")).collect(),
        Kind::Name => keys.names.iter().map(|name| format!("user:{name}")).collect(),
    };
    keep::<Vec<String>>(rendered)
}

/// A bare look-up: what the others are compared with.
pub(super) fn moka_ready<R: Row>(keys: &'static Keys, kind: Kind) -> Way {
    let (cache, ready) = (moka::<String, R>(), ready(keys, kind));
    futures::executor::block_on(async {
        for (key, number) in ready.iter().zip(&keys.numbers) {
            cache.insert(key.clone(), R::make(*number)).await;
        }
    });
    Way::new("moka `get(&str)`, the key ready", move |i| async move { cache.get(ready[i].as_str()).await })
}

pub(super) fn all<R: Row>(keys: &'static Keys, kind: Kind) -> Vec<Way> {
    let mut ways = formatted::<R>(keys, kind);
    match kind {
        Kind::Number => ways.extend(by_number::<R>(keys)),
        Kind::Name => ways.extend(by_name::<R>(keys)),
    }
    ways
}

/// Where the key is a string that each call makes.
fn formatted<R: Row>(keys: &'static Keys, kind: Kind) -> Vec<Way> {
    let render = move |i: usize| match kind {
        Kind::Number => format!("user:{}", keys.numbers[i]),
        Kind::Name => format!("user:{}", keys.names[i]),
    };
    let (get_with, quick) = (moka::<String, R>(), keep(Quick::<String, R>::new(CAPACITY as usize)));
    let amalgam = amalgam::Cache::<R>::builder()
        .max_capacity(CAPACITY.into())
        .default_options(EntryOptions::new(TTL))
        .try_build();
    let (amalgam, flights) = (keep(amalgam.expect("options that it knows")), keep(SingleFlight::in_memory()));
    vec![
        Way::new("ours by hand: `flight(&format!(..)).run(..)`", move |i| async move {
            let key = render(i);
            let load = || async { Ok::<_, Failure>(R::make(keys.numbers[i])) };
            flights.flight(&key).ttl(TTL).run(load).await
        }),
        Way::new("moka `get_with(format!(..))`", move |i| {
            get_with.get_with(render(i), async move { R::make(keys.numbers[i]) })
        }),
        Way::new("quick_cache `get_or_insert_async(&format!(..))`", move |i| async move {
            quick.get_or_insert_async(&render(i), async { Ok::<_, Failure>(R::make(keys.numbers[i])) }).await
        }),
        Way::new("amalgam-cache `get_or_set(format!(..))`", move |i| async move {
            amalgam
                .get_or_set(render(i), move |_| async move { Ok::<_, Failure>(R::make(keys.numbers[i])) })
                .await
        }),
    ]
}

/// Where the key is the integer itself.
fn by_number<R: Row>(keys: &'static Keys) -> Vec<Way> {
    let (get, get_with) = (moka::<u64, R>(), moka::<u64, R>());
    let quick = keep(Quick::<u64, R>::new(CAPACITY as usize));
    let foyer =
        keep(foyer_memory::CacheBuilder::new(CAPACITY as usize).build::<foyer_memory::CacheProperties>());
    futures::executor::block_on(async {
        for number in &keys.numbers {
            get.insert(*number, R::make(*number)).await;
        }
    });
    vec![
        Way::new("moka `get(&u64)`", move |i| async move { get.get(&keys.numbers[i]).await }),
        Way::new("moka `get_with(u64)`", move |i| {
            get_with.get_with(keys.numbers[i], async move { R::make(keys.numbers[i]) })
        }),
        Way::new("quick_cache `get_or_insert_async(&u64)`", move |i| async move {
            quick
                .get_or_insert_async(&keys.numbers[i], async { Ok::<_, Failure>(R::make(keys.numbers[i])) })
                .await
        }),
        Way::new("foyer `get_or_fetch(&u64)`", move |i| async move {
            let load = || async move { Ok::<R, Failure>(R::make(keys.numbers[i])) };
            let entry = foyer.get_or_fetch(&keys.numbers[i], load).await;
            entry.map(|entry| R::clone(entry.value()))
        }),
    ]
}

/// Where the key is the string itself, borrowed.
fn by_name<R: Row>(keys: &'static Keys) -> Vec<Way> {
    let (get_with, quick) = (moka::<String, R>(), keep(Quick::<String, R>::new(CAPACITY as usize)));
    let foyer = foyer_memory::CacheBuilder::<String, R, _>::new(CAPACITY as usize)
        .build::<foyer_memory::CacheProperties>();
    let foyer = keep(foyer);
    vec![
        Way::new("moka `get_with_by_ref(&str)`", move |i| {
            get_with.get_with_by_ref(keys.names[i].as_str(), async move { R::make(keys.numbers[i]) })
        }),
        Way::new("quick_cache `get_or_insert_async(&str)`", move |i| async move {
            let load = async { Ok::<_, Failure>(R::make(keys.numbers[i])) };
            quick.get_or_insert_async(keys.names[i].as_str(), load).await
        }),
        Way::new("foyer `get_or_fetch(&str)`", move |i| async move {
            let load = || async move { Ok::<R, Failure>(R::make(keys.numbers[i])) };
            let entry = foyer.get_or_fetch(keys.names[i].as_str(), load).await;
            entry.map(|entry| R::clone(entry.value()))
        }),
    ]
}
