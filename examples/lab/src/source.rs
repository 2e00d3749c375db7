//! The source that is to be spared: what a database would be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, watch};

use crate::items::{Reads, Row};
use crate::plan;
use crate::setting::Fault;
use crate::side::Side;
use crate::tell::Tell;
use crate::wire::{LoadEnd, What};

/// Answers queries, some at once and the others in turn, and tells of each.
pub(crate) struct Source {
    side: Arc<Side>,
    connections: Semaphore,
    loads: AtomicU32,
    /// How often each key was loaded.
    nth: Vec<AtomicU32>,
    begun: watch::Sender<Begun>,
}

/// What has begun.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begun {
    pub(crate) first: Option<First>,
    /// Loads of the same key that began after the first.
    pub(crate) later: u32,
}

/// The first load of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) process: u32,
    pub(crate) key: u32,
    pub(crate) call: u32,
    pub(crate) takes: Duration,
}

impl Source {
    pub(crate) fn new(side: Arc<Side>) -> Self {
        let connections = Semaphore::new(side.setting.connections as usize);
        let nth = (0..side.setting.keys).map(|_| AtomicU32::new(0)).collect();
        Self { side, connections, loads: AtomicU32::new(0), nth, begun: watch::Sender::default() }
    }

    /// Waits until this can be said of what has begun.
    pub(crate) async fn begun(&self, enough: impl FnMut(&Begun) -> bool) -> Begun {
        let mut begun = self.begun.subscribe();
        let begun = begun.wait_for(enough).await.map(|begun| *begun);
        // The sender is `self`: it cannot have gone.
        begun.unwrap_or_default()
    }

    fn note(&self, first: First) {
        self.begun.send_modify(|begun| match &begun.first {
            None => begun.first = Some(first),
            Some(known) if known.key == first.key => begun.later += 1,
            Some(_) => {}
        });
    }
}

#[async_trait]
impl Reads for Source {
    async fn read(&self, process: u32, key: u32, call: u32) -> Result<Row, Arc<str>> {
        self.side.room().await;
        let number = self.loads.fetch_add(1, Ordering::SeqCst);
        let nth = self.nth.get(key as usize).map_or(0, |nth| nth.fetch_add(1, Ordering::SeqCst));
        self.side.tell(What::Load { load: number, process, key, call });
        let mut load = Load { side: &self.side, number, end: (LoadEnd::Dropped, None) };
        // Never closed: a permit comes.
        let _connection = self.connections.acquire().await;
        let ms = plan::load_ms(self.side.seed, &self.side.setting, key, nth);
        let takes = Duration::from_secs_f64(ms / 1e3);
        // The row is seen as it is when the query begins.
        let version = self.side.version(key);
        self.note(First { process, key, call, takes });
        tokio::time::sleep(takes).await;
        if self.side.setting.fault == Fault::FailingLoad && nth == 0 {
            load.end = (LoadEnd::Error, None);
            return Err("the source failed".into());
        }
        load.end = (LoadEnd::Value, Some(version));
        drop(load);
        Ok(Row { version, process, at: self.side.clock.ms(), degraded: false })
    }
}

/// A load under way, whose end is told however it comes.
struct Load<'a> {
    side: &'a Side,
    number: u32,
    end: (LoadEnd, Option<u32>),
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        let (how, value) = self.end;
        self.side.tell(What::LoadEnd { load: self.number, how, value });
    }
}
