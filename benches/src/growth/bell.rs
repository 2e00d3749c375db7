//! The least that callers can wait for.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::load::{Answer, Load};
use crate::peer::Peer;

/// One load at a time, without keys and values: who comes first loads, and then wakes all others. They have to wait
/// by then.
#[derive(Debug)]
pub(super) struct Bell {
    busy: AtomicBool,
    rung: Notify,
}

impl Peer for Bell {
    const NAME: &'static str = "tasks that wait for one `Notify`";

    fn new() -> Self {
        Self { busy: AtomicBool::new(false), rung: Notify::new() }
    }

    async fn get(&self, key: u64, load: Load) -> Answer {
        if self.busy.swap(true, Ordering::AcqRel) {
            self.rung.notified().await;
            return Ok(1);
        }
        let answer = load.run(key).await;
        self.busy.store(false, Ordering::Release);
        self.rung.notify_waiters();
        answer
    }

    async fn remove(&self, _key: u64) {}
}
