//! Steps that nobody waits for.

use std::sync::Arc;
use std::time::Duration;

use singleflight_core::backend::{Abandon, Note};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::link::Lines;
use crate::steps;

/// Notes that may wait, at most.
pub(crate) const QUEUE: usize = 1024;
/// Notes under way at once, at most.
const AT_ONCE: usize = 32;

/// Invalidations that could not be sent are tried again so often, also where no call asks for the server meanwhile:
/// others read what should be gone.
const AGAIN: Duration = Duration::from_millis(500);

/// Does what is posted, for ever.
///
/// An abandon that cannot be done is left to the lease's TTL. An invalidation that cannot be done is remembered by the
/// link and sent before the link counts as up.
pub(crate) async fn run(lines: Arc<Lines>, mut notes: mpsc::Receiver<Note>) {
    let mut under_way = JoinSet::new();
    let mut again = interval(AGAIN);
    again.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let note = tokio::select! {
            note = notes.recv() => note,
            _ = again.tick() => {
                lines.send_unsent().await;
                continue;
            }
        };
        let Some(note) = note else { return };
        while under_way.try_join_next().is_some() {}
        if under_way.len() >= AT_ONCE {
            under_way.join_next().await;
        }
        let lines = lines.clone();
        under_way.spawn(async move { act(&lines, note).await });
    }
}

async fn act(lines: &Lines, note: Note) {
    match note {
        Note::Abandon { key, token, failure, cooldown } => {
            let mut request = Abandon::new(&key, token);
            (request.failure, request.cooldown) = (failure.as_deref(), cooldown);
            // Best effort: the lease has a TTL.
            let _ = steps::abandon(lines, request).await;
        }
        Note::Invalidate { key } if steps::invalidate(lines, &key).await.is_err() => put_off(lines, &key),
        // Done; or a kind of note that this version does not know, which is best effort, too.
        _ => {}
    }
}

/// Remembers an invalidation. The link is down until it has been sent: a value that should be gone would be served.
pub(crate) fn put_off(lines: &Lines, key: &Arc<str>) {
    lines.link.remember(key);
    lines.link.down(Instant::now().into_std());
}
