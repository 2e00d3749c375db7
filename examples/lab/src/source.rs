//! The source that is to be spared: what a database would be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinHandle};

use crate::items::{Reads, Row};
use crate::plan;
use crate::setting::{BackendChoice, Fault};
use crate::side::Side;
use crate::tell::Tell;
use crate::wire::{LoadEnd, What};

/// Answers queries, some at once and the others in turn. It goes on when whoever asks stands still, and stops when they
/// are gone. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Source {
    runtime: Handle,
    tables: Arc<Tables>,
}

struct Tables {
    side: Arc<Side>,
    connections: Semaphore,
    loads: AtomicU32,
    /// How often each key was loaded.
    nth: Vec<AtomicU32>,
    begun: watch::Sender<Begun>,
    /// Whether the first load may end: what is to happen in its middle has happened, however busy the machine is.
    may_end: watch::Sender<bool>,
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
    /// A source that works on the runtime this is called on.
    pub(crate) fn new(side: Arc<Side>) -> Self {
        let connections = Semaphore::new(side.setting.connections as usize);
        let nth = (0..side.setting.keys).map(|_| AtomicU32::new(0)).collect();
        let may_end = watch::Sender::new(!side.setting.fault.is_midway());
        let (loads, begun) = (AtomicU32::new(0), watch::Sender::default());
        let tables = Tables { side, connections, loads, nth, begun, may_end };
        Self { runtime: Handle::current(), tables: Arc::new(tables) }
    }

    /// Begins a query, which ends with the first of what this gives.
    pub(crate) fn ask(
        &self,
        process: u32,
        key: u32,
        call: u32,
    ) -> (Asked, JoinHandle<Result<Row, Arc<str>>>) {
        let tables = self.tables.clone();
        let load = Load::begin(&tables, process, key, call);
        let (side, number) = (tables.side.clone(), load.number);
        let query = self.runtime.spawn(async move { tables.query(load, process, key, call).await });
        (Asked { side, number, query: query.abort_handle() }, query)
    }

    /// Lets the first load end.
    pub(crate) fn let_first_end(&self) {
        self.tables.may_end.send_replace(true);
    }

    /// Waits until this can be said of what has begun.
    pub(crate) async fn begun(&self, enough: impl FnMut(&Begun) -> bool) -> Begun {
        let mut begun = self.tables.begun.subscribe();
        let begun = begun.wait_for(enough).await.map(|begun| *begun);
        // The sender is `self`: it cannot have gone.
        begun.unwrap_or_default()
    }
}

#[async_trait]
impl Reads for Source {
    async fn read(&self, process: u32, key: u32, call: u32) -> Result<Row, Arc<str>> {
        self.tables.side.room().await;
        let (_asked, query) = self.ask(process, key, call);
        query.await.unwrap_or_else(|_| Err("the source has gone".into()))
    }
}

impl Tables {
    async fn query(&self, mut load: Load, process: u32, key: u32, call: u32) -> Result<Row, Arc<str>> {
        // Never closed: a permit comes.
        let _connection = self.connections.acquire().await;
        let ms = plan::load_ms(self.side.seed, &self.side.setting, key, load.nth);
        let takes = Duration::from_secs_f64(ms / 1e3);
        // The row is seen as it is when the query begins.
        let version = self.side.version(key);
        let is_held = self.note(First { process, key, call, takes });
        let begun = self.side.clock.ms();
        tokio::time::sleep(takes).await;
        if is_held {
            // Never closed: it comes.
            let _ = self.may_end.subscribe().wait_for(|may| *may).await;
        }
        // Whoever was to come before it began finds it under way, however busy the machine is, where it is found at all.
        if self.side.setting.backend != BackendChoice::None {
            self.side.came(key, begun).await;
        }
        if self.side.setting.fault == Fault::FailingLoad && load.nth == 0 {
            load.end = (LoadEnd::Error, None);
            return Err("the source failed".into());
        }
        load.end = (LoadEnd::Value, Some(version));
        Ok(Row { version, process, at: self.side.clock.ms(), degraded: false })
    }

    /// Notes that a load begins; whether it is held until it [may end](Self::may_end): the first one is, and what is
    /// invalidated is every load of its key that has begun by then.
    fn note(&self, load: First) -> bool {
        let mut is_held = false;
        self.begun.send_modify(|begun| match &begun.first {
            None => {
                begun.first = Some(load);
                is_held = true;
            }
            Some(known) if known.key == load.key => {
                begun.later += 1;
                is_held = self.side.setting.fault == Fault::Invalidate;
            }
            Some(_) => {}
        });
        is_held
    }
}

/// Whoever asked; with them the query ends.
pub(crate) struct Asked {
    side: Arc<Side>,
    number: u32,
    query: AbortHandle,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.query.abort();
        // At once, and not when the task is dropped; if it had ended, this is not told a second time.
        self.side.tell(What::LoadEnd { load: self.number, how: LoadEnd::Dropped, value: None });
    }
}

/// A load under way, whose end is told however it comes.
struct Load {
    side: Arc<Side>,
    number: u32,
    /// How many of its key came before.
    nth: u32,
    end: (LoadEnd, Option<u32>),
}

impl Load {
    fn begin(tables: &Tables, process: u32, key: u32, call: u32) -> Self {
        let number = tables.loads.fetch_add(1, Ordering::SeqCst);
        let nth = tables.nth.get(key as usize).map_or(0, |nth| nth.fetch_add(1, Ordering::SeqCst));
        tables.side.tell(What::Load { load: number, process, key, call });
        Self { side: tables.side.clone(), number, nth, end: (LoadEnd::Dropped, None) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let (how, value) = self.end;
        self.side.tell(What::LoadEnd { load: self.number, how, value });
    }
}
