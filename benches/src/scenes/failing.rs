//! A load fails, as each of them would.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::crowd::Crowd;
use super::{Scene, Seen};
use crate::load::Failure;
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "failing load",
    what: "Fifty callers of one key; a load takes 50 ms and fails, each time.",
    run: |peer| Box::pin(run(peer)),
};

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    let mut crowd = Crowd::new(peer);
    let load = crowd.load(Duration::from_millis(50), |_| Err(Failure::Load));
    let start = Instant::now();
    crowd.call(50, &load);
    let tally = crowd.tally(start).await;
    Seen { loads: crowd.loads(), tally, remark: crowd.afterwards().await }
}
