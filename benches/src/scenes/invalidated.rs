//! The row changes, and its key is invalidated, while the old row is being loaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::crowd::Crowd;
use super::{LIMIT, LOAD, SETTLED, Scene, Seen};
use crate::load::{Load, fresh_key};
use crate::peer::AnyPeer;

pub(super) const SCENE: Scene = Scene {
    name: "invalidate during a load",
    what: "Ten callers; a load reads the row, then takes 300 ms. After 100 ms the row is changed and the key invalidated; then ten callers more. Who still gets the old row, and what is stored in the end?",
    run: |peer| Box::pin(run(peer)),
};

const OLD: u64 = 1;
const NEW: u64 = 2;

async fn run(peer: Arc<dyn AnyPeer>) -> Seen {
    if !forgets(&peer).await {
        return Seen { remark: "does not forget a value that is stored".to_owned(), ..Seen::default() };
    }
    let row = Arc::new(AtomicU64::new(OLD));
    let mut crowd = Crowd::new(peer);
    let (loads, load) = reading(&row);
    crowd.call(10, &load);
    tokio::time::sleep(SETTLED).await;
    row.store(NEW, Ordering::SeqCst);
    let invalidated = tokio::time::timeout(LIMIT, crowd.peer().remove(crowd.key)).await;
    let start = Instant::now();
    let late: Vec<_> = (0..10).map(|_| tokio::spawn(crowd.peer().get(crowd.key, load.clone()))).collect();
    let mut stale = 0;
    for caller in late {
        if let Ok(Ok(Ok(OLD))) = tokio::time::timeout(LIMIT, caller).await {
            stale += 1;
        }
    }
    let tally = crowd.tally(start).await;
    let begun = loads.load(Ordering::SeqCst);
    let stored = match tokio::time::timeout(LIMIT, crowd.peer().get(crowd.key, load)).await {
        Ok(Ok(OLD)) => "**the old row is stored**",
        Ok(Ok(_)) if loads.load(Ordering::SeqCst) > begun => "nothing is stored",
        Ok(Ok(_)) => "the new row is stored",
        Ok(Err(_)) => "afterwards a call fails",
        Err(_) => "afterwards a call hangs",
    };
    let hung = if invalidated.is_err() { "; the invalidation hangs" } else { "" };
    Seen {
        loads: begun,
        tally,
        remark: format!("{stale} of 10 later callers get the old row; {stored}{hung}"),
    }
}

/// A load that reads the row when it begins.
fn reading(row: &Arc<AtomicU64>) -> (Arc<AtomicU64>, Load) {
    let loads = Arc::new(AtomicU64::new(0));
    let (counter, row) = (Arc::clone(&loads), Arc::clone(row));
    let load = Load::of(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        let read = row.load(Ordering::SeqCst);
        async move {
            tokio::time::sleep(LOAD).await;
            Ok(read)
        }
    });
    (loads, load)
}

/// Whether our call to remove a key does what it should when nothing is going on.
async fn forgets(peer: &Arc<dyn AnyPeer>) -> bool {
    let key = fresh_key();
    let stored = Arc::clone(peer).get(key, Load::Ready(OLD)).await;
    Arc::clone(peer).remove(key).await;
    let loaded = Arc::clone(peer).get(key, Load::Ready(NEW)).await;
    matches!((stored, loaded), (Ok(OLD), Ok(NEW)))
}
