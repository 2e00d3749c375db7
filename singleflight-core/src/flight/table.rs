//! Who leads and who follows: look-up and join in one critical section.

use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::state::{State, wake};
use super::{Crew, Flight, FlightId, Follow, Lead, Watchdog};
use crate::hashing::{Hasher, Map};
use crate::sync::{Arc, Mutex, lock};

/// The flights of one engine.
pub(crate) struct FlightTable<C: Crew> {
    shards: Box<[Mutex<Shard<C>>]>,
    hasher: Hasher,
    crew: C,
    /// The origin of [`Flight::heard`].
    pub(super) origin: Instant,
    /// Tells tests that someone has sat down.
    #[cfg(feature = "test-util")]
    seated: tokio::sync::Notify,
}

/// Nearly always one flight per key; more where functions share a template.
type Shard<C> = Map<Arc<str>, SmallVec<[Arc<Flight<C>>; 1]>>;

/// A caller's part in a flight.
pub(crate) enum Joined<C: Crew> {
    /// It runs the fill.
    Lead(Lead<C>),
    /// It waits for the one that does.
    Follow(Follow<C>),
    /// Someone else runs the fill and this caller will not wait.
    Busy,
}

/// How a caller joins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// When it called.
    pub(crate) arrived: Instant,
    /// When it joins.
    pub(crate) now: Instant,
    /// When its wait budget ends.
    pub(crate) deadline: Instant,
    /// Whether it leaves rather than waits for someone else's fill.
    pub(crate) impatient: bool,
    /// How long a leader may go unheard; the lease TTL.
    pub(crate) patience: Duration,
    /// Whether a flight that this caller starts is busy from the beginning.
    pub(crate) busy: bool,
}

impl<C: Crew> FlightTable<C> {
    const SHARDS: usize = if cfg!(shuttle) { 1 } else { 64 };

    pub(crate) fn new(crew: C, now: Instant) -> Arc<Self> {
        let shards = (0..Self::SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Self {
            shards,
            hasher: Hasher::default(),
            crew,
            origin: now,
            #[cfg(feature = "test-util")]
            seated: tokio::sync::Notify::new(),
        })
    }

    pub(crate) fn crew(&self) -> &C {
        &self.crew
    }

    /// Joins the flight of `id`, or starts it. One critical section: two callers never both lead.
    pub(crate) fn join(self: &Arc<Self>, id: &FlightId, manner: Manner) -> Joined<C> {
        let mut shard = lock(self.shard(&id.key));
        let flights = match shard.entry(id.key.clone()) {
            Entry::Occupied(flights) => flights.into_mut(),
            Entry::Vacant(none) => none.insert(SmallVec::new()),
        };
        let Some(flight) = flights.iter().find(|flight| flight.id.matches(id)).cloned() else {
            let flight = Arc::new(Flight {
                id: id.clone(),
                table: self.clone(),
                state: Mutex::new(State::new(manner.patience, manner.busy)),
                heard: AtomicU64::new(0),
                reign: AtomicU64::new(1),
                detached: AtomicBool::new(false),
            });
            flights.push(flight.clone());
            return Joined::Lead(Lead::new(flight, 1));
        };
        // Still under the table's lock, so the flight cannot end before this caller sits in it.
        let mut state = lock(&flight.state);
        if manner.impatient && state.busy {
            if manner.now < flight.dies(&state, manner.now) {
                return Joined::Busy;
            }
            // A leader that hangs does nothing that anyone could leave it to: the watchdog is to depose it.
            state.busy = false;
        }
        let (at, watchdog) = state.sit(manner.arrived, manner.deadline, manner.impatient);
        let unwatched = !std::mem::replace(&mut state.watch.on, true);
        drop(state);
        drop(shard);
        if unwatched {
            self.crew.watch(Watchdog::new(flight.clone()));
        }
        wake(watchdog.into_iter().collect());
        #[cfg(feature = "test-util")]
        self.seated.notify_waiters();
        Joined::Follow(Follow::new(flight, at))
    }

    /// The other flight of the same key, of whatever function, whose fill has got to where `holds` says: they contend
    /// for one lease.
    pub(crate) fn sibling(
        &self,
        flight: &Arc<Flight<C>>,
        holds: impl Fn(&C::Stage) -> bool,
    ) -> Option<Arc<Flight<C>>> {
        let shard = lock(self.shard(&flight.id.key));
        let mut flights = shard.get(&flight.id.key)?.iter();
        // By identity: after an invalidate this flight may be out of the table, and its successor in it.
        flights.find(|other| !Arc::ptr_eq(other, flight) && holds(&lock(&other.state).stage)).cloned()
    }

    /// Takes the flights of `key` out of the table: their members keep them, later callers start afresh.
    pub(crate) fn detach(&self, key: &str) {
        let detached = lock(self.shard(key)).remove(key);
        for flight in detached.iter().flatten() {
            flight.detached.store(true, Ordering::SeqCst);
        }
    }

    /// Removes `flight`, and only it, under the lock that the caller holds. Compares identity: after a detach the key
    /// may name a younger flight.
    pub(super) fn remove(shard: &mut Shard<C>, flight: &Arc<Flight<C>>) {
        let Entry::Occupied(mut flights) = shard.entry(flight.id.key.clone()) else { return };
        if removes_by_key_alone() {
            flights.remove();
            return;
        }
        flights.get_mut().retain(|other| !Arc::ptr_eq(other, flight));
        if flights.get().is_empty() {
            flights.remove();
            if shard.capacity() > 64 && shard.capacity() > 8 * shard.len() {
                shard.shrink_to_fit();
            }
        }
    }

    pub(super) fn shard(&self, key: &str) -> &Mutex<Shard<C>> {
        let hash = self.hasher.hash_one(key);
        &self.shards[usize::try_from(hash % Self::SHARDS as u64).unwrap_or(0)]
    }

    /// How many flights are in the table.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).values().map(SmallVec::len).sum::<usize>()).sum()
    }
}

#[cfg(feature = "test-util")]
impl<C: Crew> FlightTable<C> {
    /// Waits until as many followers wait in the flights of `key`.
    pub(crate) async fn until_followers(&self, key: &str, n: usize) {
        loop {
            let mut seated = std::pin::pin!(self.seated.notified());
            // Before the look, so that whoever sits down in between is noticed.
            seated.as_mut().enable();
            if self.followers(key) >= n {
                return;
            }
            seated.await;
        }
    }

    /// How many followers wait in the flights of `key`.
    pub(crate) fn followers(&self, key: &str) -> usize {
        lock(self.shard(key)).get(key).map_or(0, Self::waiting)
    }

    /// The keys of all flights, each with how many followers wait.
    pub(crate) fn keys(&self) -> Vec<(Arc<str>, usize)> {
        let mut keys: Vec<_> = Vec::new();
        for shard in &self.shards {
            keys.extend(lock(shard).iter().map(|(key, flights)| (key.clone(), Self::waiting(flights))));
        }
        keys.sort();
        keys
    }

    fn waiting(flights: &SmallVec<[Arc<Flight<C>>; 1]>) -> usize {
        flights.iter().map(|flight| lock(&flight.state).waiting()).sum()
    }
}

/// The mutant that the model must catch; never in a build that is not under the model checker.
#[cfg(not(all(test, shuttle)))]
const fn removes_by_key_alone() -> bool {
    false
}
#[cfg(all(test, shuttle))]
fn removes_by_key_alone() -> bool {
    super::model::REMOVES_BY_KEY_ALONE.load(Ordering::Relaxed)
}

impl<C: Crew> Flight<C> {
    pub(crate) fn id(&self) -> &FlightId {
        &self.id
    }

    /// Whether the key was invalidated since this flight began, so that no later caller is in it.
    pub(crate) fn is_detached(&self) -> bool {
        self.detached.load(Ordering::SeqCst)
    }

    /// Whether it is one of `table`'s.
    pub(crate) fn is_of(&self, table: &Arc<FlightTable<C>>) -> bool {
        Arc::ptr_eq(&self.table, table)
    }

    /// Notes that the leader of `reign` is alive.
    pub(super) fn beat(&self, reign: u64, now: Instant) {
        // A deposed leader must not speak for its successor; the race between load and store costs one beat.
        if self.reign.load(Ordering::Relaxed) == reign {
            self.heard.store(self.stamp(now), Ordering::Relaxed);
        }
    }

    /// `now` as a number that is never 0.
    pub(super) fn stamp(&self, now: Instant) -> u64 {
        let nanos = now.saturating_duration_since(self.table.origin).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
    }

    /// When the leader is to be deposed, unless it is heard of again.
    pub(super) fn dies(&self, state: &State<C>, now: Instant) -> Instant {
        let dies = crate::clock::far(self.last_heard(now), state.patience);
        state.ends.map_or(dies, |ends| ends.min(dies))
    }

    /// When the leader was last heard of; a leader that never was counts from `now`.
    pub(super) fn last_heard(&self, now: Instant) -> Instant {
        let stamp = self.stamp(now);
        let heard = match self.heard.compare_exchange(0, stamp, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => stamp,
            Err(heard) => heard,
        };
        crate::clock::far(self.table.origin, Duration::from_nanos(heard))
    }
}

impl<C: Crew> fmt::Debug for FlightTable<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightTable").field("flights", &self.len()).finish_non_exhaustive()
    }
}
