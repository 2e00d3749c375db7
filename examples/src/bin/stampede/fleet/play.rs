//! A fleet at one scene: real processes on one database, and what is heard of them.

use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::member::{Heard, Member};
use super::message::{Moment, Order, Outcome, Task, Word, WorkerBackend};
use super::monitor::Sent;
use super::{FleetError, Sharing, Stage};
use crate::database::Database;

/// Processes that end with this.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) database: Database,
    namespace: String,
    callers: u32,
    members: Vec<Member>,
    heard: UnboundedReceiver<(usize, Heard)>,
    /// Those that were killed: their end is no mistake.
    killed: Vec<usize>,
    ready: usize,
    asked: usize,
    /// Who began a query, and when.
    pub(crate) queries: Vec<(usize, Moment)>,
    /// How the callers of each process fared, once all of them have been answered.
    pub(crate) outcomes: Vec<Option<Outcome>>,
}

impl Play {
    /// Starts the processes, on a database of their own and in a namespace of their own.
    pub(crate) async fn begin(stage: &mut Stage, load: Duration) -> Result<Self, FleetError> {
        stage.plays += 1;
        let file = stage.folder.join(format!("fleet-{}.sqlite", stage.plays));
        let database = Database::create(&file, 1, load).await?;
        // Whatever was stored by an earlier run is not of this one.
        let namespace = format!("stampede-{:016x}", fastrand::u64(..));
        let backend = match &stage.sharing {
            Sharing::Server(control) => {
                WorkerBackend::Server { url: control.url.clone(), namespace: namespace.clone() }
            }
            Sharing::Process => WorkerBackend::Memory,
            Sharing::Nothing => WorkerBackend::Noop,
        };
        let load_ms = u64::try_from(load.as_millis()).unwrap_or(u64::MAX);
        let task = Task { backend, database: file, load_ms };
        let (sender, heard) = mpsc::unbounded_channel();
        let start = |number| Member::start(number, &task, sender.clone());
        let members: Vec<Member> = (0..stage.processes).map(start).collect::<Result<_, _>>()?;
        let mut play = Self {
            database,
            namespace,
            callers: stage.callers,
            outcomes: vec![None; members.len()],
            members,
            heard,
            killed: Vec::new(),
            ready: 0,
            asked: 0,
            queries: Vec::new(),
        };
        let all = play.members.len();
        play.until(|play| play.ready == all).await?;
        Ok(play)
    }

    /// Sends the herd, spread over the processes, and waits until all callers wait for the query of one process, or
    /// for that of their own where they share nothing. No query goes on before [`release`](Self::release).
    pub(crate) async fn send(&mut self, stage: &mut Stage) -> Result<(), FleetError> {
        let all = self.members.len();
        for number in 0..all {
            let callers = self.callers_of(number);
            self.members[number].tell(Order::Ask { callers })?;
        }
        self.until(|play| play.asked == all && !play.queries.is_empty()).await?;
        if let Sharing::Server(control) = &mut stage.sharing {
            control.waited_for(&self.namespace, all - 1).await?;
        }
        Ok(())
    }

    /// One more caller in each process.
    pub(crate) async fn ask_again(&mut self) -> Result<Vec<Outcome>, FleetError> {
        self.outcomes.fill(None);
        for member in &mut self.members {
            member.tell(Order::Ask { callers: 1 })?;
        }
        self.until(|play| play.outcomes.iter().all(Option::is_some)).await?;
        Ok(self.outcomes.iter().flatten().cloned().collect())
    }

    /// Lets the queries of all processes go on.
    pub(crate) fn release(&mut self) -> Result<(), FleetError> {
        for number in self.alive() {
            self.members[number].tell(Order::Release)?;
        }
        Ok(())
    }

    /// The process whose query was the first.
    pub(crate) fn leader(&self) -> usize {
        self.queries.first().map_or(0, |(number, _)| *number)
    }

    pub(crate) fn leading(&self) -> &Member {
        &self.members[self.leader()]
    }

    /// Kills the leading process.
    pub(crate) fn kill_leader(&mut self) -> Result<(), FleetError> {
        let leader = self.leader();
        self.killed.push(leader);
        Ok(self.members[leader].kill()?)
    }

    /// How many callers a process has.
    pub(crate) fn callers_of(&self, number: usize) -> u32 {
        let all = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        let rest = u32::try_from(number).unwrap_or(u32::MAX) < self.callers % all;
        self.callers / all + u32::from(rest)
    }

    /// Waits until all callers of the processes that are left have been answered.
    pub(crate) async fn answered(&mut self) -> Result<(), FleetError> {
        let alive = self.alive();
        self.until(|play| alive.iter().all(|number| play.outcomes[*number].is_some())).await
    }

    /// Waits until the callers of all processes but the leading one have been answered.
    pub(crate) async fn others_answered(&mut self) -> Result<(), FleetError> {
        let leader = self.leader();
        self.until(|play| {
            let mut others = play.outcomes.iter().enumerate().filter(|(number, _)| *number != leader);
            others.all(|(_, outcome)| outcome.is_some())
        })
        .await
    }

    /// What was sent to the server on behalf of this play so far.
    pub(crate) async fn sent(&self, stage: &mut Stage) -> Result<Option<Sent>, FleetError> {
        match &mut stage.sharing {
            Sharing::Server(control) => control.sent(&self.namespace).await,
            Sharing::Process | Sharing::Nothing => Ok(None),
        }
    }

    /// How long the lease lasts unless it is renewed.
    pub(crate) async fn lease_left(&self, stage: &mut Stage) -> Result<Duration, FleetError> {
        match &mut stage.sharing {
            Sharing::Server(control) => Ok(control.lease_left(&self.namespace).await?),
            Sharing::Process | Sharing::Nothing => Ok(Duration::ZERO),
        }
    }

    fn alive(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|number| !self.killed.contains(number)).collect()
    }

    /// Hears until something holds.
    async fn until(&mut self, holds: impl Fn(&Self) -> bool) -> Result<(), FleetError> {
        while !holds(self) {
            let Some((number, heard)) = self.heard.recv().await else { return Err(FleetError::Ended) };
            match heard {
                Heard::Said(Word::Ready) => self.ready += 1,
                Heard::Said(Word::Asked) => self.asked += 1,
                Heard::Said(Word::Querying { at }) => self.queries.push((number, at)),
                Heard::Said(Word::Done(outcome)) => self.outcomes[number] = Some(outcome),
                Heard::Said(Word::Failed { message }) => return Err(FleetError::Worker(message)),
                Heard::Ended if self.killed.contains(&number) => {}
                Heard::Ended => return Err(FleetError::Ended),
            }
        }
        Ok(())
    }
}
