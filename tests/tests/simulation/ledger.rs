//! What the backend has granted and stored, kept apart from the backend so that its answers can be checked.
//!
//! A lease in the ledger ends only as it should: by its own token, by an invalidate, or when its time is over.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use singleflight_core::backend::{Change, Token};

#[derive(Debug)]
pub(crate) struct Ledger {
    leases: Vec<Option<Lease>>,
    entries: Vec<Option<Entry>>,
    tokens: BTreeMap<u128, Grant>,
    pub(crate) watches: BTreeMap<u64, Watched>,
    watched: u64,
    heard: u64,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    token: u128,
    until: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    grant: u128,
    until: Duration,
}

#[derive(Debug)]
struct Grant {
    process: usize,
    key: usize,
    /// The process knows of it and has not given it up; the number grows from grant to grant.
    believed: Option<u64>,
    heard: bool,
    ended: bool,
    load: Option<usize>,
    stored_until: Option<Duration>,
}

/// One process listening to one key.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) process: usize,
    pub(crate) key: usize,
    pub(crate) inbox: Vec<Change>,
    pub(crate) waker: Option<Waker>,
}

pub(crate) fn number(token: &Token) -> u128 {
    u128::from_be_bytes(*token.as_bytes())
}

/// What a step did that it should not have done: the promise, and in words.
pub(crate) type Fault = Option<(&'static str, String)>;

fn fault(promise: &'static str, words: String) -> Fault {
    Some((promise, words))
}

impl Ledger {
    pub(crate) fn new(keys: usize) -> Self {
        Self {
            leases: vec![None; keys],
            entries: vec![None; keys],
            tokens: BTreeMap::new(),
            watches: BTreeMap::new(),
            watched: 0,
            heard: 0,
        }
    }

    /// The token that holds the key's lease.
    pub(crate) fn live(&self, key: usize, now: Duration) -> Option<u128> {
        self.leases[key].filter(|lease| now < lease.until).map(|lease| lease.token)
    }

    pub(crate) fn is_live(&self, key: usize, token: u128, now: Duration) -> bool {
        self.live(key, now) == Some(token)
    }

    /// Whether a lease ran out since this was last asked.
    pub(crate) fn expired(&mut self, key: usize, now: Duration) -> bool {
        self.leases[key].take_if(|lease| now >= lease.until).is_some()
    }

    /// Until when there is an entry.
    pub(crate) fn entry_until(&self, key: usize, now: Duration) -> Option<Duration> {
        self.entries[key].map(|entry| entry.until).filter(|until| now < *until)
    }

    pub(crate) fn stored_until(&self, token: u128) -> Option<Duration> {
        self.tokens.get(&token)?.stored_until
    }

    pub(crate) fn granted(
        &mut self,
        process: usize,
        key: usize,
        token: u128,
        now: Duration,
        ttl: Duration,
    ) -> Fault {
        let mut found = None;
        if let Some(other) = self.live(key, now).filter(|other| *other != token) {
            found = fault("P1", format!("{token:x} was granted key {key} while {other:x} held it"));
        }
        let repeat = self.is_live(key, token, now);
        self.leases[key] = Some(Lease { token, until: now + ttl });
        let grant = self.tokens.entry(token).or_insert(Grant {
            process,
            key,
            believed: None,
            heard: false,
            ended: false,
            load: None,
            stored_until: None,
        });
        // A token whose grant nobody has heard of names nothing yet.
        if !repeat && (grant.ended && grant.heard || (grant.process, grant.key) != (process, key)) {
            found = found.or_else(|| fault("P2", format!("{token:x} names a second grant")));
        }
        found
    }

    /// The process has the answer.
    pub(crate) fn heard(&mut self, token: u128) {
        if let Some(grant) = self.tokens.get_mut(&token) {
            self.heard += 1;
            (grant.heard, grant.believed) = (true, Some(self.heard));
        }
    }

    /// The process will not use it any more.
    pub(crate) fn given_up(&mut self, token: u128) {
        if let Some(grant) = self.tokens.get_mut(&token) {
            grant.believed = None;
        }
    }

    /// The token under which a load begins: the last one heard of that no other load was given, unless that one was
    /// dropped.
    pub(crate) fn take_for_load(
        &mut self,
        process: usize,
        key: usize,
        load: usize,
        dropped: impl Fn(usize) -> bool,
    ) -> Option<u128> {
        let free =
            |grant: &Grant| (grant.process, grant.key) == (process, key) && grant.load.is_none_or(&dropped);
        let believed = self.tokens.iter_mut().filter(|(_, grant)| grant.believed.is_some() && free(grant));
        let (token, grant) = believed.max_by_key(|(_, grant)| grant.believed)?;
        grant.load = Some(load);
        Some(*token)
    }

    pub(crate) fn stored(&mut self, key: usize, token: u128, now: Duration, hard: Duration) -> (bool, Fault) {
        if !self.is_live(key, token, now) {
            if self.entries[key].is_some_and(|entry| entry.grant == token) {
                return (false, None);
            }
            let holder = self.live(key, now);
            self.put(key, token, now + hard);
            return (true, fault("P4", format!("{token:x} stored key {key}, whose lease {holder:x?} holds")));
        }
        self.end(key, token);
        self.put(key, token, now + hard);
        (true, None)
    }

    fn put(&mut self, key: usize, token: u128, until: Duration) {
        self.entries[key] = Some(Entry { grant: token, until });
        if let Some(grant) = self.tokens.get_mut(&token) {
            grant.stored_until = Some(until);
        }
    }

    fn end(&mut self, key: usize, token: u128) {
        self.leases[key] = None;
        if let Some(grant) = self.tokens.get_mut(&token) {
            grant.ended = true;
        }
    }

    pub(crate) fn freed(&mut self, key: usize, token: u128, now: Duration) -> Fault {
        if !self.is_live(key, token, now) {
            let holder = self.live(key, now);
            return fault("P7", format!("{token:x} freed key {key}, whose lease {holder:x?} holds"));
        }
        self.end(key, token);
        None
    }

    pub(crate) fn extended(&mut self, key: usize, token: u128, now: Duration, ttl: Duration) -> Fault {
        if !self.is_live(key, token, now) {
            return fault("P13", format!("{token:x} was renewed without holding key {key}"));
        }
        self.leases[key] = Some(Lease { token, until: now + ttl });
        None
    }

    pub(crate) fn invalidated(&mut self, key: usize, now: Duration) {
        if let Some(token) = self.live(key, now) {
            self.end(key, token);
        }
        (self.leases[key], self.entries[key]) = (None, None);
    }

    pub(crate) fn watch(&mut self, process: usize, key: usize) -> u64 {
        self.watched += 1;
        self.watches.insert(self.watched, Watched { process, key, inbox: Vec::new(), waker: None });
        self.watched
    }

    pub(crate) fn watchers(&self) -> usize {
        self.watches.len()
    }
}
