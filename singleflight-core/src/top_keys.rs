//! Which keys are loaded most, in bounded memory.
//!
//! The Space-Saving algorithm (Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
//! Data Streams", 2005): a key that is not among those counted takes the place of the one with the lowest count and goes
//! on from there. Every key with more than `fills / capacity` fills is on the list, and no count is too low.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sync::{Mutex, lock};

/// The keys with the most fills.
#[derive(Debug)]
pub(crate) struct TopKeys {
    capacity: usize,
    keys: Mutex<HashMap<Arc<str>, Tally>>,
}

#[derive(Clone, Copy, Debug)]
struct Tally {
    fills: u64,
    /// How much of it may be others'.
    inherited: u64,
}

/// A key that is often loaded; see [`SingleFlightBuilder::top_keys`](crate::SingleFlightBuilder::top_keys).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopKey {
    /// The key.
    pub key: Arc<str>,
    /// How often it was loaded, at most.
    pub fills: u64,
    /// How often it was loaded, at least.
    pub at_least: u64,
}

impl TopKeys {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, keys: Mutex::default() }
    }

    pub(crate) fn count(&self, key: &Arc<str>) {
        let mut keys = lock(&self.keys);
        if let Some(tally) = keys.get_mut(key) {
            tally.fills += 1;
            return;
        }
        let mut inherited = 0;
        if keys.len() >= self.capacity {
            let least = keys.iter().min_by_key(|(_, tally)| tally.fills);
            let Some((least, tally)) = least.map(|(key, tally)| (key.clone(), *tally)) else { return };
            keys.remove(&least);
            inherited = tally.fills;
        }
        keys.insert(key.clone(), Tally { fills: inherited + 1, inherited });
    }

    /// The keys counted, most fills first.
    pub(crate) fn list(&self) -> Vec<TopKey> {
        let mut list: Vec<_> = lock(&self.keys)
            .iter()
            .map(|(key, tally)| TopKey {
                key: key.clone(),
                fills: tally.fills,
                at_least: tally.fills - tally.inherited,
            })
            .collect();
        list.sort_by(|a, b| b.fills.cmp(&a.fills).then_with(|| a.key.cmp(&b.key)));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_keys_are_found_among_many_cold_ones() {
        let top = TopKeys::new(10);
        let (hot, warm): (Arc<str>, Arc<str>) = ("hot".into(), "warm".into());
        for n in 0..1000 {
            top.count(&hot);
            if n % 2 == 0 {
                top.count(&warm);
            }
            top.count(&format!("cold:{n}").into());
        }
        let list = top.list();
        assert_eq!(list.len(), 10);
        assert_eq!((&list[0].key, &list[1].key), (&hot, &warm));
        for (found, fills) in list.iter().zip([1000, 500]) {
            assert!(found.at_least <= fills && fills <= found.fills, "{found:?}");
        }
    }

    #[test]
    fn without_room_nothing_is_counted() {
        let top = TopKeys::new(0);
        top.count(&"a".into());
        assert!(top.list().is_empty());
    }
}
