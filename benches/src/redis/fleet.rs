//! Processes that share a server and send herds.

use std::io;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::member::Member;
use super::message::{Herd, Order, Task, Word};
use super::outcome::Outcome;
use super::peers::Kind;
use super::server::Server;

/// How long a fleet may take to get ready, and a herd to be answered.
const LIMIT: Duration = Duration::from_secs(30);

/// They end with this.
pub(super) struct Fleet {
    pub(super) kind: Kind,
    members: Vec<Member>,
    heard: Receiver<(usize, Option<Word>)>,
    killed: Option<usize>,
}

/// What is known of a herd so far.
struct Play {
    asked: usize,
    outcome: Outcome,
}

impl Fleet {
    /// Starts them, and waits until all have their connections.
    pub(super) fn start(kind: Kind, server: &Server, processes: usize) -> io::Result<Self> {
        let task = Task { kind, url: server.url(kind.database()) };
        let (sender, heard) = mpsc::channel();
        let start = |number| Member::start(number, &task, sender.clone());
        let members = (0..processes).map(start).collect::<io::Result<_>>()?;
        let fleet = Self { kind, members, heard, killed: None };
        let (limit, mut ready) = (Instant::now() + LIMIT, 0);
        while ready < processes {
            match fleet.hear(limit)? {
                (_, Some(Word::Ready)) => ready += 1,
                (_, word) => return Err(unexpected(kind, &word)),
            }
        }
        Ok(fleet)
    }

    /// Callers of one key in all processes: no load ends before all have called.
    pub(super) fn herd(&mut self, herd: Herd) -> io::Result<Outcome> {
        let limit = Instant::now() + LIMIT;
        let play = self.send(herd, limit)?;
        self.finish(herd, play, limit)
    }

    /// The same, but the process that was the first to load is killed before its load ends. Once it is dead, `seen` is
    /// called; loads end after it.
    pub(super) fn widow<T>(
        &mut self,
        herd: Herd,
        seen: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(Outcome, T)> {
        let limit = Instant::now() + LIMIT;
        let play = self.send(herd, limit)?;
        let (first, _) = play.outcome.loads[0];
        self.members[first].kill()?;
        self.killed = Some(first);
        let seen = seen()?;
        Ok((self.finish(herd, play, limit)?, seen))
    }

    /// Ends all processes, whatever they do.
    pub(super) fn end(&mut self) {
        self.members.clear();
    }

    /// Whether they have been ended.
    pub(super) fn is_over(&self) -> bool {
        self.members.is_empty()
    }

    /// Sends the callers, until all have called and one load has begun.
    fn send(&mut self, herd: Herd, limit: Instant) -> io::Result<Play> {
        for member in &mut self.members {
            member.tell(Order::Ask(herd))?;
        }
        let mut play = Play { asked: 0, outcome: Outcome::new(self.members.len()) };
        while play.asked < self.members.len() || play.outcome.loads.is_empty() {
            self.listen(&mut play, limit)?;
        }
        Ok(play)
    }

    /// Lets loads end, and waits until all callers of the processes that are left have been answered.
    fn finish(&mut self, herd: Herd, mut play: Play, limit: Instant) -> io::Result<Outcome> {
        for (number, member) in self.members.iter_mut().enumerate() {
            if self.killed != Some(number) {
                member.tell(Order::Release { key: herd.key })?;
            }
        }
        let left = self.members.len() - usize::from(self.killed.is_some());
        while play.outcome.answers.iter().flatten().count() < left {
            self.listen(&mut play, limit)?;
        }
        let all = play.outcome.answers.iter().flatten().map(|answers| answers.replies.len()).sum::<usize>();
        assert_eq!(all, left * herd.callers, "{:?}: all callers are answered", self.kind);
        Ok(play.outcome)
    }

    fn listen(&self, play: &mut Play, limit: Instant) -> io::Result<()> {
        match self.hear(limit)? {
            (_, Some(Word::Asked)) => play.asked += 1,
            (number, Some(Word::Loading { at })) => play.outcome.loads.push((number, at)),
            (number, Some(Word::Done { replies, ends })) => play.outcome.answer(number, replies, ends),
            (number, None) if self.killed == Some(number) => {}
            (_, word) => return Err(unexpected(self.kind, &word)),
        }
        Ok(())
    }

    fn hear(&self, limit: Instant) -> io::Result<(usize, Option<Word>)> {
        let left = limit.saturating_duration_since(Instant::now());
        self.heard.recv_timeout(left).map_err(|_| {
            let what = format!("{:?}: not everybody was answered within {} s", self.kind, LIMIT.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, what)
        })
    }
}

fn unexpected(kind: Kind, word: &Option<Word>) -> io::Error {
    match word {
        Some(Word::Failed { message }) => io::Error::other(format!("{kind:?}: a process says: {message}")),
        Some(word) => io::Error::other(format!("{kind:?}: {word:?} out of turn")),
        None => io::Error::other(format!("{kind:?}: a process has ended")),
    }
}

/// A key that no herd had before.
pub(super) fn next_key() -> u64 {
    // In all of the processes' databases, the first ones are for what they try when they connect.
    1_000_000 + crate::load::fresh_key()
}
