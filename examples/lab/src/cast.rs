//! All processes of one side, its source, and what is done to them.

use std::sync::Arc;
use std::time::Instant;

use singleflight_core::{LeaseBackend, MemoryBackend};
use tokio::task::AbortHandle;

use crate::member::life::World;
use crate::member::thread::ThreadMember;
use crate::member::{MemberError, Order, Spec};
use crate::setting::{BackendChoice, EntryAtStart};
use crate::side::Side;
use crate::source::Source;
use crate::stats::Stats;
use crate::store::ByteStore;
use crate::tell::Tell;
use crate::watched::Way;
use crate::wire::{EntryStep, What};

/// One side's processes and source.
pub(crate) struct Cast {
    pub(crate) side: Arc<Side>,
    pub(crate) source: Arc<Source>,
    members: Arc<Vec<ThreadMember>>,
    director: Option<AbortHandle>,
}

impl Cast {
    /// Sets everything up; nobody calls yet.
    pub(crate) async fn gather(side: Arc<Side>, redis: Option<&str>) -> Result<Self, MemberError> {
        let _ = redis;
        let source = Arc::new(Source::new(side.clone()));
        let shared = ByteStore::shared();
        let mut members = Vec::new();
        for process in 0..side.setting.processes {
            let backend = side.setting.backend;
            let store: Option<Arc<dyn LeaseBackend>> = match backend {
                BackendChoice::Memory => Some(Arc::new(MemoryBackend::new())),
                BackendChoice::Shared | BackendChoice::Redis => Some(shared.clone()),
                BackendChoice::None => None,
            };
            let spec = Spec {
                process,
                setting: side.setting.clone(),
                calls: side.calls.iter().filter(|planned| planned.process == process).copied().collect(),
                namespace: String::new(),
                seeds: process == 0 || backend == BackendChoice::Memory,
            };
            let world = World {
                clock: side.clock.clone(),
                tell: side.clone(),
                source: source.clone(),
                store,
                way: Arc::new(Way::default()),
            };
            members.push(ThreadMember::start(spec, world).await?);
        }
        Ok(Self { side, source, members: Arc::new(members), director: None })
    }

    /// Begins.
    pub(crate) fn go(&self, zero: Instant) {
        self.tell_entries();
        for member in self.members.iter() {
            member.tell(Order::Go(zero));
        }
    }

    /// Tells of what is stored at the start.
    fn tell_entries(&self) {
        let setting = &self.side.setting;
        let Some((soft, hard)) = setting.left_at_start() else { return };
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
        let stores = if setting.backend == BackendChoice::Memory { setting.processes } else { 1 };
        for process in 0..stores {
            for key in 0..setting.keys {
                let (what, value) = (EntryStep::Stored, Some(1));
                let (soft_ms, hard_ms) = (ms(soft), ms(hard));
                self.side.tell(What::Entry { key, process, what, value, soft_ms, hard_ms });
            }
        }
        debug_assert_ne!(setting.entry, EntryAtStart::None);
    }

    /// Waits until all is done.
    pub(crate) async fn settled(&self) {
        self.side.settled().await;
    }

    /// Ends everything that is left of it, and tells what it came to.
    pub(crate) async fn end(self, why: Option<&str>) {
        if let Some(director) = &self.director {
            director.abort();
        }
        if let Some(why) = why {
            self.side.fault(why, None, None);
            for planned in self.side.unanswered(None) {
                self.side.drop_call(planned.call);
            }
        }
        let (mut stats, mut commands, mut lost) = (Stats::default(), 0, 0);
        for member in Arc::into_inner(self.members).unwrap_or_default() {
            match member.last().await {
                Some(last) => {
                    stats.add(&last.stats);
                    commands += last.commands;
                }
                None => lost += 1,
            }
        }
        self.side.close(stats, commands, lost);
    }
}
