//! A load asks for the key that it loads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::crowd::Crowd;
use super::{Scene, Seen};
use crate::load::Load;
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "re-entry",
    what: "One caller, whose load asks for the same key before it returns; a load within a load returns at once.",
    run: |peer| Box::pin(run(peer)),
};

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    let mut crowd = Crowd::new(peer);
    let (loads, within) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let load = {
        let (loads, peer, key) = (Arc::clone(&loads), crowd.peer(), crowd.key);
        Load::of(move || {
            loads.fetch_add(1, Ordering::SeqCst);
            let (loads, within, peer) = (Arc::clone(&loads), Arc::clone(&within), Arc::clone(&peer));
            async move {
                if within.swap(true, Ordering::SeqCst) {
                    return Ok(1);
                }
                let inner = Load::of(move || {
                    loads.fetch_add(1, Ordering::SeqCst);
                    async { Ok(2) }
                });
                peer.get(key, inner).await
            }
        })
    };
    let start = Instant::now();
    crowd.call(1, &load);
    let tally = crowd.tally(start).await;
    let remark = if tally.hung > 0 { "deadlock".to_owned() } else { crowd.afterwards().await };
    Seen { loads: loads.load(Ordering::SeqCst), tally, remark }
}
