//! Leases, failures and watchers of the keys in one shard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::entries::Entries;
use crate::backend::{Acquire, Acquired, Change, Renewed, Token};
use crate::clock::far;
use crate::hashing::Map;

/// How long those who were waiting on a grant are told that it failed.
const NOTE: Duration = Duration::from_secs(1);
/// A shard is swept after this time and after as many additions as it holds keys, but not for fewer than these.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const SWEEP_AFTER: usize = 64;

/// The keys of one shard. All methods run under its lock and are synchronous.
///
/// A row lives while its lease, its failure or a watcher does. Rows whose lease or failure merely *expired* go when
/// their key is next used, or with a sweep: there are never more of them than `SWEEP_AFTER` plus the live ones.
#[derive(Default)]
pub(super) struct Shard {
    rows: Map<Arc<str>, Row>,
    /// When the entries of this shard are gone; what a sweep goes by. Names all that the cache has, and may name
    /// some that it has evicted.
    gone: Map<Arc<str>, Instant>,
    /// Rows and entries added since the last sweep, and how many it left.
    added: usize,
    kept: usize,
    sweep_at: Option<Instant>,
    /// Up to so many entries are taken to be in the cache without a look: its bound, shared out.
    share: usize,
}

#[derive(Default)]
struct Row {
    lease: Option<Lease>,
    failed: Option<Failed>,
    bell: Option<watch::Sender<Change>>,
}

struct Lease {
    token: Token,
    /// Whose fill it is: a failure is only for calls of the same function.
    identity: u32,
    until: Instant,
}

/// The last grant that failed.
struct Failed {
    identity: u32,
    grant: Token,
    message: Arc<str>,
    /// Until then told to those who were waiting on the grant.
    noted: Instant,
    /// Until then told to everybody.
    cooling: Instant,
}

/// Whoever watches a key and is to be woken, once the lock is no longer held.
#[must_use]
pub(super) struct Woken(Option<watch::Sender<Change>>);

impl Woken {
    pub(super) fn published(self) {
        self.with(Change::Published);
    }

    pub(super) fn abandoned(self, grant: Token, failure: Option<Arc<str>>) {
        self.with(Change::Abandoned { grant, failure });
    }

    pub(super) fn invalidated(self) {
        self.with(Change::Invalidated);
    }

    /// Two steps that follow each other closely may ring in either order: a change says "look", and looking is what
    /// decides. A failure that is rung over is still told by the note to who asks with `waited_on`.
    fn with(self, change: Change) {
        if let Some(bell) = self.0 {
            bell.send_replace(change);
        }
    }
}

impl Row {
    fn live_lease(&self, now: Instant) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| now < lease.until)
    }

    /// The failure to be told to someone who has been waiting on `waited_on`, and how long it will be.
    fn failure(&self, identity: u32, waited_on: Option<Token>, now: Instant) -> Option<(Duration, &Failed)> {
        let failed = self.failed.as_ref().filter(|failed| failed.identity == identity)?;
        let waited = waited_on == Some(failed.grant);
        let until = if waited { failed.noted.max(failed.cooling) } else { failed.cooling };
        (now < until).then(|| (until - now, failed))
    }

    fn is_live(&self, now: Instant) -> bool {
        self.bell.is_some()
            || self.live_lease(now).is_some()
            || self.failed.as_ref().is_some_and(|failed| now < failed.noted.max(failed.cooling))
    }
}

impl Shard {
    /// A shard that looks after about `share` entries when the cache is full.
    pub(super) fn new(share: usize) -> Self {
        Self { share, ..Self::default() }
    }

    /// Steps 2 to 4 of an acquire; the entry has been looked at.
    pub(super) fn acquire(&mut self, request: &Acquire<'_>, now: Instant) -> Acquired {
        let row = self.row(request.key);
        let identity = request.kind.identity;
        if !request.despite_cooldown
            && let Some((left, failed)) = row.failure(identity, request.waited_on, now)
        {
            return Acquired::CoolingDown { left, message: failed.message.clone() };
        }
        match row.live_lease(now) {
            Some(lease) if lease.token != request.token => {
                Acquired::Held { grant: lease.token, left: lease.until - now }
            }
            _ => {
                row.failed.take_if(|_| request.despite_cooldown);
                row.lease = Some(Lease { token: request.token, identity, until: far(now, request.ttl) });
                Acquired::Granted
            }
        }
    }

    /// The token that holds the lease.
    pub(super) fn holder(&self, key: &str, now: Instant) -> Option<Token> {
        self.rows.get(key)?.live_lease(now).map(|lease| lease.token)
    }

    pub(super) fn holds(&self, key: &str, token: Token, now: Instant) -> bool {
        self.holder(key, now) == Some(token)
    }

    pub(super) fn renew(&mut self, key: &str, token: Token, ttl: Duration, now: Instant) -> Renewed {
        let lease = self.rows.get_mut(key).and_then(|row| row.lease.as_mut());
        match lease.filter(|lease| lease.token == token && now < lease.until) {
            Some(lease) => {
                lease.until = far(now, ttl);
                Renewed::Extended
            }
            None => Renewed::Lost,
        }
    }

    /// Ends the lease; the caller has seen that the token holds it.
    pub(super) fn release(&mut self, key: &str, now: Instant) -> (Woken, Arc<str>) {
        let owned = self.owned(key);
        let row = self.row(key);
        row.lease = None;
        let woken = Woken(row.bell.clone());
        self.prune(key, now);
        (woken, owned)
    }

    /// Notes how the grant that holds the lease ends: for those who were waiting on it, and for everybody while it cools down.
    ///
    /// An end without failure or cool-down leaves what an earlier grant has left.
    pub(super) fn fail(
        &mut self,
        key: &str,
        grant: Token,
        message: Option<Arc<str>>,
        cooldown: Duration,
        now: Instant,
    ) {
        if message.is_none() && cooldown.is_zero() {
            return;
        }
        let noted = if message.is_some() { far(now, NOTE) } else { now };
        let message = message.unwrap_or_default();
        let row = self.row(key);
        let identity = row.lease.as_ref().map_or(0, |lease| lease.identity);
        row.failed = Some(Failed { identity, grant, message, noted, cooling: far(now, cooldown) });
    }

    /// Voids the lease and the failure.
    pub(super) fn void(&mut self, key: &str, now: Instant) -> Woken {
        let Some(row) = self.rows.get_mut(key) else { return Woken(None) };
        (row.lease, row.failed) = (None, None);
        let woken = Woken(row.bell.clone());
        self.prune(key, now);
        woken
    }

    /// Begins to listen; what changes after this is heard.
    pub(super) fn listen(&mut self, key: &str) -> watch::Receiver<Change> {
        self.row(key).bell.get_or_insert_with(|| watch::Sender::new(Change::Unknown)).subscribe()
    }

    /// Ends a watch. The receiver goes under the lock, or two who leave together could each count the other.
    pub(super) fn leave(&mut self, key: &str, receiver: watch::Receiver<Change>, now: Instant) {
        drop(receiver);
        let Some(row) = self.rows.get_mut(key) else { return };
        row.bell.take_if(|bell| bell.receiver_count() == 0);
        self.prune(key, now);
    }

    /// Notes that an entry has been stored.
    pub(super) fn remember(&mut self, key: Arc<str>, hard: Instant) {
        self.added += usize::from(self.gone.insert(key, hard).is_none());
    }

    /// Whether an entry may be there.
    pub(super) fn remembers(&self, key: &str) -> bool {
        self.gone.contains_key(key)
    }

    /// Notes that an entry has been removed.
    pub(super) fn forget(&mut self, key: &str) {
        self.gone.remove(key);
    }

    /// Frees what has expired, often enough for the bounds above and rarely enough to cost each addition a constant.
    ///
    /// What the cache has evicted is looked for only where there are more entries than the shard's share: most caches are
    /// never full, and a look costs about as much as a hit.
    pub(super) fn sweep_if_due(&mut self, now: Instant, entries: &Entries) {
        let due = *self.sweep_at.get_or_insert_with(|| far(now, SWEEP_EVERY));
        if self.added < self.kept.max(SWEEP_AFTER) && now < due {
            return;
        }
        self.rows.retain(|_, row| row.is_live(now));
        let crowded = self.gone.len() > self.share;
        self.gone.retain(|key, hard| {
            let expired = now >= *hard;
            if expired {
                entries.drop(key);
            }
            !expired && (!crowded || entries.contains(key))
        });
        self.kept = self.rows.len() + self.gone.len();
        self.rows.shrink_to(2 * self.rows.len());
        self.gone.shrink_to(2 * self.gone.len());
        (self.added, self.sweep_at) = (0, Some(far(now, SWEEP_EVERY)));
    }

    fn row(&mut self, key: &str) -> &mut Row {
        let key = self.owned(key);
        self.rows.entry(key).or_insert_with(|| {
            self.added += 1;
            Row::default()
        })
    }

    /// The key, shared with its row where there is one.
    fn owned(&self, key: &str) -> Arc<str> {
        self.rows.get_key_value(key).map_or_else(|| key.into(), |(key, _)| key.clone())
    }

    /// Removes a row that nobody needs any more.
    fn prune(&mut self, key: &str, now: Instant) {
        if self.rows.get(key).is_some_and(|row| !row.is_live(now)) {
            self.rows.remove(key);
        }
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn count(&self, now: Instant, residue: &mut super::Residue) {
        residue.rows += self.rows.len();
        for row in self.rows.values() {
            residue.leases += usize::from(row.live_lease(now).is_some());
            residue.watches += row.bell.as_ref().map_or(0, watch::Sender::receiver_count);
            let failed = row.failed.as_ref();
            residue.failures += usize::from(failed.is_some_and(|f| now < f.noted.max(f.cooling)));
        }
    }
}
