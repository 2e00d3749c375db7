//! A call of a key that was never asked for, whose load returns at once.

use std::hint::black_box;
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};

use crate::load::{Load, fresh_key};
use crate::machine;
use crate::peer::Peer;
use crate::peers::{
    Amalgam, AmalgamBounded, CAPACITY, Cached, CachedByKey, Foyer, Hitbox, MokaGetWith, MokaTryGetWith, Ours,
    OursByHand, OursQuick, OursSpawned, Quick,
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
        contender::<MokaGetWith>(&runtime, CALLS),
        contender::<MokaTryGetWith>(&runtime, CALLS),
        contender::<Ours>(&runtime, CALLS),
        contender::<OursQuick>(&runtime, CALLS),
        contender::<OursSpawned>(&runtime, CALLS),
        contender::<OursByHand>(&runtime, CALLS),
        contender::<Quick>(&runtime, CALLS),
        contender::<Cached>(&runtime, CALLS),
        contender::<CachedByKey>(&runtime, CALLS),
        contender::<Foyer>(&runtime, CALLS),
        contender::<Hitbox>(&runtime, CALLS),
        contender::<Amalgam>(&runtime, CALLS),
    ];
    let measured = take_turns(&mut contenders, ROUNDS);
    // Apart: it sorts all of its values for each miss, and nothing of the others is in the processor's caches then.
    let mut apart = vec![contender::<MokaGetWith>(&runtime, CALLS), contender::<AmalgamBounded>(&runtime, 5)];
    let bounded = take_turns(&mut apart, ROUNDS / 10);
    let what = format!(
        "One caller, one thread, a new key each time, a load that returns at once; caches are full ({CAPACITY} values), so that each call also drops one, except where there is no bound (amalgam-cache; what it costs with a bound was measured apart, a tenth of the rounds). {ROUNDS} rounds of {CALLS} calls."
    );
    let head = ["", "ns, median (half are between)", "ratio to moka `get_with`"];
    let mut table = Table::new("A miss", &what, head);
    for one in measured.iter().chain(&bounded[1..]) {
        table.rows.push(vec![one.name.clone(), one.cost.show(0), one.ratio.show(2)]);
    }
    publish("misses", &machine::about(&before), &[table], &(measured, bounded))
}

fn contender<P: Peer>(runtime: &Runtime, calls: usize) -> Contender<'_> {
    let peer = P::new();
    runtime.block_on(miss(&peer, CAPACITY as usize + CAPACITY as usize / 10));
    Contender::new(P::NAME, move || {
        let start = Instant::now();
        runtime.block_on(miss(&peer, calls));
        start.elapsed().as_nanos() as f64 / calls as f64
    })
}

/// So many misses.
pub async fn miss(peer: &impl Peer, calls: usize) {
    for _ in 0..calls {
        let answer = black_box(peer.get(black_box(fresh_key()), Load::Ready(1)).await);
        assert!(answer.is_ok(), "no load fails");
    }
}
