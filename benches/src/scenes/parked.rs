//! The caller who loads is neither polled nor dropped.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Instant;

use super::crowd::Crowd;
use super::{LOAD, Scene, Seen};
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "leader parked",
    what: "The future of the caller who loads is polled until the load has begun, then kept without being polled again, as in a `select!` whose other branch goes on. Nineteen callers more; a load takes 300 ms. The lease of ours is 500 ms.",
    run: |peer| Box::pin(run(peer)),
};

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    let mut crowd = Crowd::new(peer);
    let load = crowd.load(LOAD, Ok);
    let mut parked = crowd.peer().get(crowd.key, load.clone());
    while crowd.loads() == 0 {
        let polled = parked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "answered before it loaded");
        tokio::task::yield_now().await;
    }
    let start = Instant::now();
    crowd.call(19, &load);
    let tally = crowd.tally(start).await;
    let loads = crowd.loads();
    drop(parked);
    Seen { loads, tally, remark: format!("once it is dropped, {}", crowd.afterwards().await) }
}
