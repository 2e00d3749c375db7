//! What a hit and a miss allocate. A program of its own, because counting costs time.

use std::alloc::System;

use serde::Serialize;
use singleflight_benches::growth;
use singleflight_benches::hits::{KIND_NAMES, Keys, Row, Small, User, ways};
use singleflight_benches::machine;
use singleflight_benches::misses::miss;
use singleflight_benches::peer::Peer;
use singleflight_benches::peers::{
    Amalgam, CAPACITY, Cached, CachedByKey, Foyer, Hitbox, MokaGetWith, MokaTryGetWith, Ours, OursByHand,
    OursQuick, OursSpawned, Quick,
};
use singleflight_benches::report::{Table, publish};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Serialize)]
struct Record {
    what: String,
    name: String,
    allocations: f64,
    bytes: f64,
}

fn main() -> std::io::Result<()> {
    if let Some(done) = growth::worker(Some(&heap)) {
        return done;
    }
    let before = machine::load();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut records = Vec::new();
    for (kind, key) in KIND_NAMES {
        records.extend(hits::<Small>(&runtime, kind, key));
        records.extend(hits::<User>(&runtime, kind, key));
    }
    records.extend(misses(&runtime));
    let mut tables: Vec<Table> = Vec::new();
    for record in &records {
        if tables.last().is_none_or(|table| table.title != record.what) {
            let what = "For each call, on average over thousands of calls.";
            tables.push(Table::new(&record.what, what, ["", "allocations", "bytes"]));
        }
        let row =
            vec![record.name.clone(), format!("{:.2}", record.allocations), format!("{:.0}", record.bytes)];
        tables.last_mut().expect("pushed above").rows.push(row);
    }
    publish("allocations", &machine::about(&before), &tables, &records)
}

/// Bytes that are on the heap now.
fn heap() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.bytes_allocated - stats.bytes_deallocated) as u64
}

/// Beyond the clone of the value.
fn hits<R: Row>(runtime: &Runtime, kind: singleflight_benches::hits::Kind, key: &str) -> Vec<Record> {
    let order: &'static [u32] = &Keys::get().each;
    let what = format!("Allocations of a hit beyond the value's clone, {key}, the value {}", R::NAME);
    let ways = ways::<R>(kind);
    let count = |way: &singleflight_benches::hits::Way| {
        for _ in 0..4 {
            runtime.block_on(way.ask(order));
        }
        let region = Region::new(ALLOCATOR);
        for _ in 0..8 {
            runtime.block_on(way.ask(order));
        }
        let stats = region.change();
        let calls = (order.len() * 8) as f64;
        let allocations = (stats.allocations + stats.reallocations) as f64 / calls - R::ALLOCATIONS;
        // Less than a thousandth is the loop's own.
        let allocations = if allocations < 0.002 { 0.0 } else { allocations };
        let bytes = if allocations == 0.0 { 0.0 } else { stats.bytes_allocated as f64 / calls - R::BYTES };
        Record { what: what.clone(), name: way.name.to_owned(), allocations, bytes }
    };
    ways.iter().map(count).collect()
}

fn misses(runtime: &Runtime) -> Vec<Record> {
    vec![
        miss_of::<MokaGetWith>(runtime),
        miss_of::<MokaTryGetWith>(runtime),
        miss_of::<Ours>(runtime),
        miss_of::<OursQuick>(runtime),
        miss_of::<OursSpawned>(runtime),
        miss_of::<OursByHand>(runtime),
        miss_of::<Quick>(runtime),
        miss_of::<Cached>(runtime),
        miss_of::<CachedByKey>(runtime),
        miss_of::<Foyer>(runtime),
        miss_of::<Hitbox>(runtime),
        miss_of::<Amalgam>(runtime),
    ]
}

fn miss_of<P: Peer>(runtime: &Runtime) -> Record {
    const CALLS: usize = 10_000;
    let peer = P::new();
    runtime.block_on(miss(&peer, CAPACITY as usize + CAPACITY as usize / 10));
    let region = Region::new(ALLOCATOR);
    runtime.block_on(miss(&peer, CALLS));
    let stats = region.change();
    Record {
        what: "Allocations of a miss whose load returns at once, the cache full".to_owned(),
        name: P::NAME.to_owned(),
        allocations: (stats.allocations + stats.reallocations) as f64 / CALLS as f64,
        bytes: stats.bytes_allocated as f64 / CALLS as f64,
    }
}
