//! All processes of one side, its source, and what is done to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use singleflight_core::{LeaseBackend, MemoryBackend};
use tokio::task::JoinHandle;

use crate::clock::machine_us;
use crate::director::Director;
use crate::member::life::World;
use crate::member::process::ProcessMember;
use crate::member::thread::ThreadMember;
use crate::member::{Member, MemberError, Order, Spec};
use crate::setting::BackendChoice;
use crate::side::Side;
use crate::source::Source;
use crate::stats::Stats;
use crate::store::ByteStore;
use crate::taught::{School, Taught};
use crate::tell::Tell;
use crate::watched::Way;
use crate::wire::{EntryStep, What};

/// One side's processes and source.
pub(crate) struct Cast {
    side: Arc<Side>,
    source: Source,
    members: Arc<Vec<Member>>,
    director: Option<JoinHandle<()>>,
}

impl Cast {
    /// Sets everything up; nobody calls yet.
    pub(crate) async fn gather(side: Arc<Side>, redis: Option<&str>) -> Result<Self, MemberError> {
        let source = Source::new(side.clone());
        let (store, school) = (ByteStore::default(), School::new(side.setting.fault));
        let namespace = namespace();
        let mut members = Vec::new();
        // The first one stores what is there at the start: last, so that it is as fresh as can be when the race begins.
        for process in (0..side.setting.processes).rev() {
            let spec = spec(&side, process, &namespace);
            if side.setting.backend == BackendChoice::Redis {
                let url = redis.ok_or_else(|| MemberError::new("there is no server"))?;
                let member = ProcessMember::start(spec, url, side.clone(), source.clone()).await?;
                members.push(Member::Process(member));
                continue;
            }
            let store: Option<Arc<dyn LeaseBackend>> = match side.setting.backend {
                BackendChoice::Memory => Some(Arc::new(MemoryBackend::new())),
                BackendChoice::Shared if side.setting.fault.is_taught() => {
                    Some(Arc::new(Taught::new(store.clone(), process, school.clone(), side.clone())))
                }
                BackendChoice::Shared => Some(Arc::new(store.clone())),
                BackendChoice::Redis | BackendChoice::None => None,
            };
            let (clock, tell, source) = (side.clock.clone(), side.clone(), Arc::new(source.clone()));
            let world = World { clock, tell, source, store, way: Arc::new(Way::default()) };
            members.push(Member::Thread(ThreadMember::start(spec, world).await?));
        }
        members.reverse();
        Ok(Self { side, source, members: Arc::new(members), director: None })
    }

    /// Begins.
    pub(crate) fn go(&mut self, zero: Instant) {
        self.tell_entries();
        let (side, source, members) = (self.side.clone(), self.source.clone(), self.members.clone());
        self.director = Some(tokio::spawn(Director { side, source, members }.direct()));
        for member in self.members.iter() {
            member.tell(Order::Go(zero));
        }
    }

    /// Tells of what is stored at the start.
    fn tell_entries(&self) {
        let setting = &self.side.setting;
        let Some((soft, hard)) = setting.left_at_start() else { return };
        let ms = |time: Duration| u64::try_from(time.as_millis()).ok();
        let stores = if setting.backend == BackendChoice::Memory { setting.processes } else { 1 };
        for process in 0..stores {
            for key in 0..setting.keys {
                let (what, value) = (EntryStep::Stored, Some(1));
                let (soft_ms, hard_ms) = (ms(soft), ms(hard));
                self.side.tell(What::Entry { key, process, what, value, soft_ms, hard_ms });
            }
        }
    }

    /// Waits until all is done, and every process has ended.
    pub(crate) async fn settled(&self) {
        self.side.settled().await;
        for member in self.members.iter() {
            member.tell(Order::Finish);
        }
        for member in self.members.iter() {
            member.ended().await;
        }
    }

    /// Ends everything that is left of it, and tells what it came to.
    pub(crate) async fn end(mut self, why: Option<&str>) {
        if let Some(director) = self.director.take() {
            director.abort();
            // It is a member's owner too.
            let _ = director.await;
        }
        if let Some(why) = why {
            self.side.let_go(why);
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

fn spec(side: &Side, process: u32, namespace: &str) -> Spec {
    let setting = side.setting.clone();
    let calls = side.calls.iter().filter(|planned| planned.process == process).copied().collect();
    let seeds = process == 0 || setting.backend == BackendChoice::Memory;
    Spec { process, setting, calls, namespace: namespace.to_owned(), seeds }
}

/// One that no other side of any race has had on the same server.
fn namespace() -> String {
    static SIDES: AtomicU32 = AtomicU32::new(0);
    let number = SIDES.fetch_add(1, Ordering::Relaxed);
    format!("lab-{}-{}-{number}", machine_us(), std::process::id())
}
