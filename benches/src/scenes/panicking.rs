//! A load panics.

use std::sync::Arc;
use std::time::Instant;

use super::crowd::Crowd;
use super::{LOAD, Scene, Seen};
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "leader panics",
    what: "Twenty callers of one key; a load takes 300 ms, and the first load panics at its end. The others would not.",
    run: |peer| Box::pin(run(peer)),
};

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    let mut crowd = Crowd::new(peer);
    let load = crowd.load(LOAD, |number| {
        assert!(number > 1, "the first load panics");
        Ok(number)
    });
    crowd.call(1, &load);
    crowd.begun().await;
    crowd.call(19, &load);
    let tally = crowd.tally(Instant::now()).await;
    Seen { loads: crowd.loads(), tally, remark: crowd.afterwards().await }
}
