//! What goes wrong on a side, and when.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::member::{Member, Order};
use crate::setting::{BackendChoice, EntryAtStart, Fault};
use crate::side::Side;
use crate::source::{First, Source};

/// The shortest time that a store is away.
const AWAY: Duration = Duration::from_secs(1);

/// Whatever a process was told to do is done by then, unless it cannot be.
const PATIENCE: Duration = Duration::from_secs(10);

/// Brings about a side's fault. Its sentences count processes from one, as the page does.
pub(crate) struct Director {
    pub(crate) side: Arc<Side>,
    pub(crate) source: Source,
    pub(crate) members: Arc<Vec<Member>>,
}

impl Director {
    pub(crate) async fn direct(self) {
        match self.side.setting.fault {
            Fault::None => {}
            Fault::LeaderKilled => self.kill().await,
            Fault::LeaderPaused | Fault::PlainDel => self.pause().await,
            Fault::Invalidate => self.invalidate().await,
            Fault::BackendStopped => self.stop_store().await,
            Fault::FailingLoad => self.say("the first load of each key fails"),
            Fault::LateQuestion => {
                self.say("other processes ask for the lease when the value has been stored, and the store looks again");
            }
            Fault::NoRecheck => {
                self.say("other processes ask for the lease when the value has been stored, and the store does not look");
            }
            Fault::NoRenewal => self.say("nobody renews a lease"),
        }
    }

    fn say(&self, what: &str) {
        self.side.fault(what, None, None);
    }

    /// Waits until the first load is half done.
    async fn midway(&self) -> First {
        let begun = self.source.begun(|begun| begun.first.is_some()).await;
        let Some(first) = begun.first else { return std::future::pending().await };
        sleep(first.takes / 2).await;
        first
    }

    fn member(&self, process: u32) -> Option<&Member> {
        self.members.get(process as usize)
    }

    /// Whether the leader's call alone is meant: with one process there would be nobody left.
    fn is_alone(&self) -> bool {
        self.members.len() == 1
    }

    async fn kill(&self) {
        let First { process, key, call, .. } = self.midway().await;
        let Some(member) = self.member(process) else { return };
        if self.is_alone() {
            self.side.fault(format!("caller {call}, which leads, goes away"), Some(process), Some(key));
            self.side.drop_call(call);
            member.tell(Order::Drop(call));
        } else {
            self.side.fault(format!("process {} is killed", process + 1), Some(process), Some(key));
            member.kill();
            self.side.lose_process(process);
        }
        // Its load ends with it, however long that takes on a busy machine; a task of its own goes on.
        if self.is_alone() && self.side.setting.spawn {
            self.source.let_first_end();
        }
    }

    async fn pause(&self) {
        let First { process, key, call, takes } = self.midway().await;
        let Some(member) = self.member(process) else { return };
        let so_far = self.source.begun(|_| true).await.later;
        if self.is_alone() {
            self.side.fault(format!("caller {call}, which leads, stands still"), Some(process), Some(key));
            member.tell(Order::Hold(call));
        } else {
            self.side.fault(format!("process {} stands still", process + 1), Some(process), Some(key));
            member.pause().await;
        }
        // What it has read is old from now on.
        let version = self.side.change(key);
        self.side.fault(format!("the row is changed: it has version {version} now"), None, Some(key));
        self.source.let_first_end();
        // Until another load is well under way, or should have been.
        let lease = Duration::from_millis(self.side.lease_ms(process));
        let taken_over = async {
            self.source.begun(|begun| begun.later > so_far).await;
            sleep(takes / 4).await;
        };
        let _ = timeout(lease + takes + AWAY, taken_over).await;
        if self.is_alone() {
            self.side.fault(format!("caller {call} goes on"), Some(process), Some(key));
            member.tell(Order::Release(call));
        } else {
            self.side.fault(format!("process {} goes on", process + 1), Some(process), Some(key));
            member.resume();
        }
    }

    async fn invalidate(&self) {
        let First { process, key, .. } = self.midway().await;
        self.all_begun(key).await;
        // By another process, if there is one: as a write elsewhere would.
        let writer = (process + 1) % self.side.setting.processes;
        let version = self.side.change(key);
        let what =
            format!("process {} changes the row to version {version}, and invalidates its key", writer + 1);
        self.side.fault(what, Some(writer), Some(key));
        if let Some(member) = self.member(writer) {
            member.tell(Order::Invalidate(key));
        }
        let _ = timeout(PATIENCE, self.side.removed()).await;
        self.source.let_first_end();
    }

    /// Where each process loads for itself, waits until those have begun to whom callers should have come by now: what is
    /// invalidated in one of them is its load, not what it has stored.
    async fn all_begun(&self, key: u32) {
        let setting = &self.side.setting;
        if setting.backend == BackendChoice::Memory && setting.entry != EntryAtStart::Fresh {
            let wanted = self.side.processes_asked(key).min(setting.connections);
            let _ = timeout(PATIENCE, self.source.begun(|begun| begun.later + 1 >= wanted)).await;
        }
    }

    async fn stop_store(&self) {
        let First { takes, .. } = self.midway().await;
        let redis = self.side.setting.backend == BackendChoice::Redis;
        self.say(if redis { "the way to the server is cut" } else { "the store goes away" });
        for member in self.members.iter() {
            member.cut(true);
        }
        self.source.let_first_end();
        sleep((takes * 2).max(AWAY)).await;
        for member in self.members.iter() {
            member.cut(false);
        }
        self.say(if redis { "the server can be reached again" } else { "the store is back" });
    }
}
