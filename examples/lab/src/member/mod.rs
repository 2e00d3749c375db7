//! The processes of a side: threads that share nothing but the store, or processes of the operating system.

pub(crate) mod life;
pub(crate) mod process;
pub(crate) mod thread;
pub(crate) mod worker;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use self::process::ProcessMember;
use self::thread::ThreadMember;
use crate::plan::Planned;
use crate::setting::Setting;
use crate::stats::Stats;

/// What a member is made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) process: u32,
    pub(crate) setting: Setting,
    /// Its own calls.
    pub(crate) calls: Vec<Planned>,
    /// Goes before its keys on a server.
    pub(crate) namespace: String,
    /// Whether it puts there what is stored at the start.
    pub(crate) seeds: bool,
}

/// What a member is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// The race begins, at this moment.
    Go(Instant),
    /// Make this caller go away.
    Drop(u32),
    /// Do not poll this call any more.
    Hold(u32),
    /// Poll it again.
    Release(u32),
    /// Invalidate this key.
    Invalidate(u32),
    /// Stand still, all of it, until told otherwise.
    Stand,
    /// Let what is being loaded land, say what the engine has counted, and end.
    Finish,
    /// End at once.
    Stop,
}

/// What a member has counted when it ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Last {
    pub(crate) stats: Stats,
    pub(crate) commands: u64,
}

/// One process of a side. It ends with this.
pub(crate) enum Member {
    Thread(ThreadMember),
    Process(ProcessMember),
}

impl Member {
    pub(crate) fn tell(&self, order: Order) {
        match self {
            Self::Thread(member) => member.tell(order),
            Self::Process(member) => member.tell(order),
        }
    }

    /// Cuts or mends its way to the store.
    pub(crate) fn cut(&self, cut: bool) {
        match self {
            Self::Thread(member) => member.way.cut(cut),
            Self::Process(member) => member.cut(cut),
        }
    }

    /// Makes it stand still, all of it; comes back when it does.
    pub(crate) async fn pause(&self) {
        match self {
            Self::Thread(member) => member.pause().await,
            Self::Process(member) => member.pause(),
        }
    }

    /// Lets it go on.
    pub(crate) fn resume(&self) {
        match self {
            Self::Thread(member) => member.resume(),
            Self::Process(member) => member.resume(),
        }
    }

    /// Ends it in the middle of whatever it does: nothing of that reaches the store.
    pub(crate) fn kill(&self) {
        match self {
            Self::Thread(member) => {
                member.way.cut(true);
                member.tell(Order::Stop);
            }
            Self::Process(member) => member.kill(),
        }
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        match self {
            Self::Thread(member) => member.ended().await,
            Self::Process(member) => member.ended().await,
        }
    }

    /// Ends it, if it has not ended, and gives what it has counted; `None` if that died with it.
    pub(crate) async fn last(self) -> Option<Last> {
        self.resume();
        self.tell(Order::Stop);
        match self {
            Self::Thread(member) => member.last().await,
            Self::Process(member) => member.last().await,
        }
    }
}

/// A member could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct MemberError(pub(crate) String);

impl MemberError {
    pub(crate) fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}
