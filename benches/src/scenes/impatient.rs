//! A load takes longer than any caller's patience.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::crowd::{Crowd, Tally};
use super::{Scene, Seen};
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "load longer than anyone's patience",
    what: "Twenty clients; each gives a call 200 ms, then drops it and calls again, eight times at most. A load takes 500 ms.",
    run: |peer| Box::pin(run(peer)),
};

const PATIENCE: Duration = Duration::from_millis(200);
const TRIES: usize = 8;

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    let crowd = Crowd::new(peer);
    let load = crowd.load(Duration::from_millis(500), Ok);
    let start = Instant::now();
    let clients: Vec<_> = (0..20)
        .map(|_| {
            let (peer, key, load) = (crowd.peer(), crowd.key, load.clone());
            tokio::spawn(async move {
                for _ in 0..TRIES {
                    if let Ok(answer) =
                        tokio::time::timeout(PATIENCE, Arc::clone(&peer).get(key, load.clone())).await
                    {
                        return Some((answer, Instant::now()));
                    }
                }
                None
            })
        })
        .collect();
    let mut tally = Tally::default();
    for client in clients {
        match client.await {
            Ok(Some((answer, at))) => tally.add(answer, at.saturating_duration_since(start)),
            Ok(None) => tally.hung += 1,
            Err(_) => tally.panicked += 1,
        }
    }
    Seen { loads: crowd.loads(), tally, remark: String::new() }
}
