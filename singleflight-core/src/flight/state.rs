//! What leader, followers and watchdog of one flight share, behind its lock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;
use std::time::{Duration, Instant};

use slab::Slab;
use smallvec::SmallVec;

use super::{Crew, Flight};
use crate::sync::Weak;

pub(super) struct State<C: Crew> {
    pub(super) stage: C::Stage,
    /// The current leader; grows with every change of leader.
    pub(super) reign: u64,
    /// A leader not heard of for this long is deposed.
    pub(super) patience: Duration,
    /// When the leader is deposed even if it is polled.
    pub(super) ends: Option<Instant>,
    /// Whether someone has taken on the fill, so that those who will not wait need not.
    pub(super) busy: bool,
    pub(super) done: Option<Done<C::Outcome>>,
    pub(super) seats: Slab<Seat>,
    /// Waiting seats by deadline; entries of seats that are gone are skipped when met and swept when they prevail.
    line: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    pub(super) tickets: u64,
    /// Who came before the store was asked.
    pub(super) sealed: Before,
    /// Who came before the body began.
    pub(super) boarded: Before,
    pub(super) watch: Watch,
    /// The flights that this one's body is waiting for.
    pub(super) blocked_on: SmallVec<[Weak<Flight<C>>; 1]>,
}

/// The watchdog, as the members see it.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) on: bool,
    pub(super) waker: Option<Waker>,
    /// When it will look by itself.
    pub(super) until: Option<Instant>,
}

/// How a flight ended.
pub(super) struct Done<O> {
    /// `None`: look again.
    pub(super) outcome: Option<O>,
    /// Whom the outcome is for; the others look again.
    pub(super) before: Before,
}

/// Who may have an outcome.
#[derive(Clone, Copy)]
pub(super) enum Before {
    Nobody,
    /// Those who sat down before this ticket was given out, or whose callers had called before this moment: they may
    /// have sat in another flight before this one.
    Mark {
        ticket: u64,
        moment: Instant,
    },
    Everyone,
}

impl Before {
    pub(super) fn includes(self, seat: &Seat) -> bool {
        match self {
            Self::Nobody => false,
            Self::Mark { ticket, moment } => seat.ticket < ticket || seat.arrived < moment,
            Self::Everyone => true,
        }
    }
}

pub(super) struct Seat {
    pub(super) ticket: u64,
    /// When its caller called, which may be long before it sat down.
    pub(super) arrived: Instant,
    pub(super) waker: Option<Waker>,
    pub(super) standing: Standing,
    /// Leaves as soon as the flight is busy.
    pub(super) impatient: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Waiting,
    /// Leader of this reign, once polled.
    Promoted(u64),
    /// Its wait budget has run out.
    Expired,
}

/// Wakers to be called once the lock is free.
pub(super) type Wakers = SmallVec<[Waker; 4]>;

impl<C: Crew> State<C> {
    pub(super) fn new(patience: Duration, busy: bool) -> Self {
        Self {
            stage: C::Stage::default(),
            reign: 1,
            patience,
            ends: None,
            busy,
            done: None,
            seats: Slab::new(),
            line: BinaryHeap::new(),
            tickets: 0,
            sealed: Before::Nobody,
            boarded: Before::Nobody,
            watch: Watch::default(),
            blocked_on: SmallVec::new(),
        }
    }

    /// Takes a seat; the waker is the watchdog's, if this deadline comes before it would look.
    pub(super) fn sit(
        &mut self,
        arrived: Instant,
        deadline: Instant,
        impatient: bool,
    ) -> (usize, Option<Waker>) {
        let ticket = self.tickets;
        self.tickets += 1;
        let seat = Seat { ticket, arrived, waker: None, standing: Standing::Waiting, impatient };
        let at = self.seats.insert(seat);
        // Callers of one function come in the order of their deadlines, which makes this push O(1).
        self.line.push(Reverse((deadline, ticket, at)));
        let early = self.watch.until.is_some_and(|until| deadline < until);
        if self.line.len() > 2 * self.seats.len() + 64 {
            let seats = &self.seats;
            self.line.retain(|Reverse((_, ticket, at))| waits(seats, *at, *ticket));
        }
        (at, if early { self.watch.waker.take() } else { None })
    }

    /// How many followers wait.
    #[cfg(feature = "test-util")]
    pub(super) fn waiting(&self) -> usize {
        self.seats.iter().filter(|(_, seat)| seat.standing == Standing::Waiting).count()
    }

    #[cfg(test)]
    pub(super) fn line_len(&self) -> usize {
        self.line.len()
    }

    /// All who have come so far.
    pub(super) const fn mark(&self, now: Instant) -> Before {
        Before::Mark { ticket: self.tickets, moment: now }
    }

    /// The earliest deadline of a waiting seat.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        while let Some(&Reverse((deadline, ticket, at))) = self.line.peek() {
            if waits(&self.seats, at, ticket) {
                return Some(deadline);
            }
            self.line.pop();
        }
        None
    }

    /// Tells every seat whose deadline has come.
    pub(super) fn expire(&mut self, now: Instant, wakers: &mut Wakers) {
        while self.next_deadline().is_some_and(|deadline| deadline <= now) {
            if let Some(Reverse((_, _, at))) = self.line.pop() {
                self.seats[at].standing = Standing::Expired;
                wakers.extend(self.seats[at].waker.take());
            }
        }
    }

    /// Makes the seat that has waited longest the leader; `false` if nobody waits.
    pub(super) fn promote(&mut self, wakers: &mut Wakers) -> bool {
        if self.next_deadline().is_none() {
            return false;
        }
        let Some(Reverse((_, _, at))) = self.line.pop() else { return false };
        self.reign += 1;
        self.ends = None;
        self.seats[at].standing = Standing::Promoted(self.reign);
        wakers.extend(self.seats[at].waker.take());
        // The watchdog has a new leader to look after.
        wakers.extend(self.watch.waker.take());
        true
    }

    /// Everyone who is to be woken when the flight ends.
    pub(super) fn everyone(&mut self) -> Wakers {
        let mut wakers: Wakers = self.seats.iter_mut().filter_map(|(_, seat)| seat.waker.take()).collect();
        wakers.extend(self.watch.waker.take());
        wakers
    }
}

/// Whether the seat at `at` is still the one with this ticket, and still waiting.
fn waits(seats: &Slab<Seat>, at: usize, ticket: u64) -> bool {
    seats.get(at).is_some_and(|seat| seat.ticket == ticket && seat.standing == Standing::Waiting)
}

/// Wakes them; call without locks.
pub(super) fn wake(wakers: Wakers) {
    wakers.into_iter().for_each(Waker::wake);
}
