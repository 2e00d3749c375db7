//! The caller who loads goes away.

use std::sync::Arc;
use std::time::Instant;

use super::crowd::Crowd;
use super::{LOAD, SETTLED, Scene, Seen};
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "leader aborted",
    what: "Twenty callers of one key; a load takes 300 ms. After 100 ms the task of the caller who came first, and so loads, is aborted.",
    run: |peer| Box::pin(run(peer)),
};

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    let mut crowd = Crowd::new(peer);
    let load = crowd.load(LOAD, Ok);
    crowd.call(1, &load);
    crowd.begun().await;
    crowd.call(19, &load);
    tokio::time::sleep(SETTLED).await;
    crowd.abort_first();
    let tally = crowd.tally(Instant::now()).await;
    Seen { loads: crowd.loads(), tally, remark: crowd.afterwards().await }
}
