//! How much of everything one race may ask for.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::setting::{BackendChoice, Choice, EntryAtStart, Fault, LosersChoice, Setting, TimeoutChoice};

/// Races that run at the same time; whoever asks for more is told to try again.
pub(crate) const RACES: usize = 2;

/// A race ends after so many seconds, whatever is under way.
pub(crate) const LONGEST_S: u64 = 30;

/// The largest body of a request, in bytes.
pub(crate) const BODY: usize = 16 * 1024;

/// The largest seed: the largest whole number that a page in a browser says exactly.
pub(crate) const SEED: u64 = (1 << 53) - 1;

/// What a number may be.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Bound {
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// `None` leaves it to the library.
    pub(crate) default: Option<u32>,
    /// The unit it is shown with.
    pub(crate) unit: &'static str,
}

const fn bound(min: u32, max: u32, default: Option<u32>, unit: &'static str) -> Bound {
    Bound { min, max, default, unit }
}

pub(crate) const CALLERS: Bound = bound(1, 2000, Some(200), "");
pub(crate) const PROCESSES: Bound = bound(1, 8, Some(1), "");
pub(crate) const KEYS: Bound = bound(1, 16, Some(1), "");
pub(crate) const ARRIVALS: Bound = bound(0, 10_000, Some(0), "ms");
pub(crate) const LOAD: Bound = bound(1, 5000, Some(100), "ms");
pub(crate) const LOAD_SPREAD: Bound = bound(0, 100, Some(0), "%");
pub(crate) const CONNECTIONS: Bound = bound(1, 2000, Some(16), "");
pub(crate) const LOCK_TTL: Bound = bound(50, 10_000, None, "ms");
pub(crate) const SOFT_TTL: Bound = bound(10, 60_000, Some(1000), "ms");
pub(crate) const TTL: Bound = bound(10, 60_000, Some(2000), "ms");
pub(crate) const WAIT: Bound = bound(0, 30_000, None, "ms");
/// A fraction is welcome.
pub(crate) const EARLY: Bound = bound(0, 10, Some(0), "");

/// The numbers of a setting.
pub(crate) const NUMBERS: [(&str, Bound); 12] = [
    ("callers", CALLERS),
    ("processes", PROCESSES),
    ("keys", KEYS),
    ("arrivals_ms", ARRIVALS),
    ("load_ms", LOAD),
    ("load_spread", LOAD_SPREAD),
    ("connections", CONNECTIONS),
    ("lock_ttl_ms", LOCK_TTL),
    ("soft_ttl_ms", SOFT_TTL),
    ("ttl_ms", TTL),
    ("wait_ms", WAIT),
    ("early", EARLY),
];

/// The setting of a side about which nothing is said.
pub(crate) fn defaults() -> Setting {
    let of = |bound: Bound| bound.default.unwrap_or(bound.min);
    Setting {
        callers: of(CALLERS),
        processes: of(PROCESSES),
        keys: of(KEYS),
        arrivals_ms: of(ARRIVALS),
        load_ms: of(LOAD),
        load_spread: of(LOAD_SPREAD),
        connections: of(CONNECTIONS),
        lock_ttl_ms: LOCK_TTL.default,
        soft_ttl_ms: of(SOFT_TTL),
        ttl_ms: of(TTL),
        entry: EntryAtStart::None,
        losers: LosersChoice::Stale,
        wait_ms: WAIT.default,
        on_timeout: TimeoutChoice::Load,
        spawn: false,
        early: f64::from(of(EARLY)),
        backend: BackendChoice::Memory,
        fault: Fault::None,
    }
}

/// The bounds of all fields, as the page reads them.
pub(crate) fn bounds() -> Value {
    let mut all: Map<String, Value> =
        NUMBERS.iter().map(|(name, bound)| ((*name).to_owned(), json!(bound))).collect();
    let defaults = json!(defaults());
    for (name, _) in choices() {
        all.insert(name.to_owned(), json!({ "default": defaults[name] }));
    }
    all.insert("spawn".to_owned(), json!({ "default": false }));
    Value::Object(all)
}

/// The words that a field may be, each with its title.
pub(crate) fn choices() -> [(&'static str, Value); 5] {
    [
        ("entry", words::<EntryAtStart>()),
        ("losers", words::<LosersChoice>()),
        ("on_timeout", words::<TimeoutChoice>()),
        ("backend", words::<BackendChoice>()),
        ("fault", words::<Fault>()),
    ]
}

fn words<C: Choice>() -> Value {
    C::WORDS.iter().map(|(_, word, title)| json!({ "value": word, "title": title })).collect()
}
