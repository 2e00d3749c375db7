//! A call of a key that was never asked for, whose load returns at once.

use std::hint::black_box;
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};

use crate::load::{Load, fresh_key};
use crate::machine;
use crate::peer::Peer;
use crate::peers::{
    Amalgam, CAPACITY, Cached, CachedByKey, Foyer, Hitbox, MokaGetWith, MokaTryGetWith, Ours, OursByHand,
    OursSpawned, Quick,
};
use crate::report::{Table, publish};
use crate::rounds::{Contender, take_turns};

const ROUNDS: usize = 301;
const CALLS: usize = 500;

/// Runs it.
///
/// # Errors
///
/// Those of writing.
pub fn run() -> std::io::Result<()> {
    let before = machine::load();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut contenders = vec![
        contender::<MokaGetWith>(&runtime),
        contender::<MokaTryGetWith>(&runtime),
        contender::<Ours>(&runtime),
        contender::<OursSpawned>(&runtime),
        contender::<OursByHand>(&runtime),
        contender::<Quick>(&runtime),
        contender::<Cached>(&runtime),
        contender::<CachedByKey>(&runtime),
        contender::<Foyer>(&runtime),
        contender::<Hitbox>(&runtime),
        contender::<Amalgam>(&runtime),
    ];
    let measured = take_turns(&mut contenders, ROUNDS);
    let what = format!(
        "One caller, one thread, a new key each time, a load that returns at once; caches are full ({CAPACITY} values), so that each call also drops one. {ROUNDS} rounds of {CALLS} calls."
    );
    let head = ["", "ns, median (half are between)", "ratio to moka `get_with`"];
    let mut table = Table::new("A miss", &what, head);
    for one in &measured {
        table.rows.push(vec![one.name.clone(), one.cost.show(0), one.ratio.show(2)]);
    }
    publish("misses", &machine::about(&before), &[table], &measured)
}

fn contender<P: Peer>(runtime: &Runtime) -> Contender<'_> {
    let peer = P::new();
    runtime.block_on(miss(&peer, CAPACITY as usize * 2));
    Contender::new(P::NAME, move || {
        let start = Instant::now();
        runtime.block_on(miss(&peer, CALLS));
        start.elapsed().as_nanos() as f64 / CALLS as f64
    })
}

/// So many misses.
pub async fn miss(peer: &impl Peer, calls: usize) {
    for _ in 0..calls {
        let answer = black_box(peer.get(black_box(fresh_key()), Load::Ready(1)).await);
        assert!(answer.is_ok(), "no load fails");
    }
}
