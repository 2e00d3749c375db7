//! What a request asks for, checked: all mistakes at once, each with a sentence.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bounds::{self, Bound};
use crate::setting::{BackendChoice, Choice, EntryAtStart, Fault, Setting};

/// A race to be run.
#[derive(Clone, Debug)]
pub(crate) struct RaceOrder {
    pub(crate) seed: u64,
    pub(crate) sides: Vec<Setting>,
}

/// Something that is not as it has to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Mistake {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) side: Option<usize>,
    pub(crate) field: String,
    pub(crate) message: String,
}

impl RaceOrder {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8], has_redis: bool) -> Result<Self, Vec<Mistake>> {
        let mistake = |field: &str, message: String| Mistake { side: None, field: field.to_owned(), message };
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| vec![mistake("", format!("the body must be JSON: {error}"))])?;
        let Value::Object(mut body) = body else {
            return Err(vec![mistake("", "the body must be an object with `seed` and `sides`".to_owned())]);
        };
        let mut mistakes = Vec::new();
        let seed = match body.remove("seed") {
            None | Some(Value::Null) => 1,
            Some(seed) => seed.as_u64().filter(|seed| *seed <= bounds::SEED).unwrap_or_else(|| {
                let message =
                    format!("seed must be a whole number from 0 to {}; this is {seed}", bounds::SEED);
                mistakes.push(mistake("seed", message));
                1
            }),
        };
        let sides = match body.remove("sides") {
            Some(Value::Array(sides)) if (1..=2).contains(&sides.len()) => sides,
            _ => {
                mistakes.push(mistake("sides", "sides must be a list of one or two settings".to_owned()));
                Vec::new()
            }
        };
        for name in body.keys() {
            let message = format!("a race has no `{name}`; it has `seed` and `sides`");
            mistakes.push(mistake(name, message));
        }
        let sides = sides.into_iter().enumerate();
        let sides = sides.map(|(side, setting)| read_side(side, setting, has_redis, &mut mistakes)).collect();
        if mistakes.is_empty() { Ok(Self { seed, sides }) } else { Err(mistakes) }
    }
}

fn read_side(side: usize, setting: Value, has_redis: bool, mistakes: &mut Vec<Mistake>) -> Setting {
    let mut fields = Fields { side, fields: Map::new(), mistakes };
    match setting {
        Value::Object(setting) => fields.fields = setting,
        other => fields.refuse("", format!("a setting must be an object; this is {other}")),
    }
    let d = bounds::defaults();
    let setting = Setting {
        callers: fields.number("callers", bounds::CALLERS),
        processes: fields.number("processes", bounds::PROCESSES),
        keys: fields.number("keys", bounds::KEYS),
        arrivals_ms: fields.number("arrivals_ms", bounds::ARRIVALS),
        load_ms: fields.number("load_ms", bounds::LOAD),
        load_spread: fields.number("load_spread", bounds::LOAD_SPREAD),
        connections: fields.number("connections", bounds::CONNECTIONS),
        lock_ttl_ms: fields.optional("lock_ttl_ms", bounds::LOCK_TTL),
        soft_ttl_ms: fields.number("soft_ttl_ms", bounds::SOFT_TTL),
        ttl_ms: fields.number("ttl_ms", bounds::TTL),
        entry: fields.word("entry", d.entry),
        losers: fields.word("losers", d.losers),
        wait_ms: fields.optional("wait_ms", bounds::WAIT),
        on_timeout: fields.word("on_timeout", d.on_timeout),
        spawn: fields.flag("spawn"),
        early: fields.fraction("early", bounds::EARLY),
        backend: fields.word("backend", d.backend),
        fault: fields.word("fault", d.fault),
    };
    fields.refuse_rest();
    fields.check(&setting, has_redis);
    setting
}

/// The fields of one side that have not been read yet.
struct Fields<'a> {
    side: usize,
    fields: Map<String, Value>,
    mistakes: &'a mut Vec<Mistake>,
}

impl Fields<'_> {
    fn refuse(&mut self, field: &str, message: String) {
        self.mistakes.push(Mistake { side: Some(self.side), field: field.to_owned(), message });
    }

    /// Whether a field of this side has been refused already.
    fn is_refused(&self, field: &str) -> bool {
        self.mistakes.iter().any(|mistake| mistake.side == Some(self.side) && mistake.field == field)
    }

    /// What is said of a field; `null` says nothing.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    fn number(&mut self, name: &str, bound: Bound) -> u32 {
        self.optional(name, bound).unwrap_or(bound.min)
    }

    fn optional(&mut self, name: &str, bound: Bound) -> Option<u32> {
        let Some(value) = self.take(name) else { return bound.default };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (bound.min..=bound.max).contains(number));
        if number.is_none() {
            let Bound { min, max, .. } = bound;
            self.refuse(name, format!("{name} must be a whole number from {min} to {max}; this is {value}"));
        }
        number
    }

    fn fraction(&mut self, name: &str, bound: Bound) -> f64 {
        let Some(value) = self.take(name) else { return f64::from(bound.default.unwrap_or_default()) };
        let range = f64::from(bound.min)..=f64::from(bound.max);
        value.as_f64().filter(|number| range.contains(number)).unwrap_or_else(|| {
            let Bound { min, max, .. } = bound;
            self.refuse(name, format!("{name} must be a number from {min} to {max}; this is {value}"));
            0.0
        })
    }

    fn flag(&mut self, name: &str) -> bool {
        let Some(value) = self.take(name) else { return false };
        value.as_bool().unwrap_or_else(|| {
            self.refuse(name, format!("{name} must be true or false; this is {value}"));
            false
        })
    }

    fn word<C: Choice>(&mut self, name: &str, default: C) -> C {
        let Some(value) = self.take(name) else { return default };
        let said = C::WORDS.iter().find(|(_, word, _)| value == *word);
        said.map_or_else(
            || {
                let words: Vec<String> = C::WORDS.iter().map(|(_, word, _)| format!("\"{word}\"")).collect();
                self.refuse(name, format!("{name} must be one of {}; this is {value}", words.join(", ")));
                default
            },
            |(choice, ..)| *choice,
        )
    }

    /// What has not been read is not known.
    fn refuse_rest(&mut self) {
        for name in std::mem::take(&mut self.fields).keys() {
            self.refuse(name, format!("a setting has no `{name}`"));
        }
    }

    /// What does not go together.
    fn check(&mut self, setting: &Setting, has_redis: bool) {
        let Setting { soft_ttl_ms, ttl_ms, backend, entry, .. } = setting;
        // What is out of bounds itself says nothing of what it goes with.
        let are_good = !["soft_ttl_ms", "ttl_ms"].iter().any(|field| self.is_refused(field));
        if are_good && soft_ttl_ms > ttl_ms {
            let message = format!(
                "soft_ttl_ms must not be longer than ttl_ms: after {ttl_ms} ms the entry is gone; this is {soft_ttl_ms}"
            );
            self.refuse("soft_ttl_ms", message);
        }
        if *entry == EntryAtStart::Stale && are_good && soft_ttl_ms == ttl_ms {
            let message =
                "entry cannot be \"stale\" where soft_ttl_ms and ttl_ms are the same: it would be gone";
            self.refuse("entry", message.to_owned());
        }
        if *entry != EntryAtStart::None && *backend == BackendChoice::None {
            let message = "entry must be \"none\" with backend \"none\", which keeps nothing";
            self.refuse("entry", message.to_owned());
        }
        if *backend == BackendChoice::Redis && !has_redis {
            let message =
                "backend cannot be \"redis\": the lab was started without; give it `--redis redis://…`";
            self.refuse("backend", message.to_owned());
        }
        self.check_fault(setting);
    }

    fn check_fault(&mut self, setting: &Setting) {
        let Setting { backend, fault, processes, .. } = setting;
        let word = Fault::WORDS.iter().find(|(choice, ..)| choice == fault).map_or("", |(_, word, _)| word);
        if fault.is_taught() && *backend != BackendChoice::Shared {
            let message =
                format!("fault \"{word}\" needs backend \"shared\": real backends have no such mistake");
            self.refuse("fault", message);
        }
        if fault.is_taught() && *processes < 2 && !self.is_refused("processes") {
            let message =
                format!("fault \"{word}\" needs two processes or more: they meet in the store alone");
            self.refuse("fault", message);
        }
        if *fault == Fault::BackendStopped && matches!(backend, BackendChoice::Memory | BackendChoice::None) {
            let message =
                "fault \"backend_stopped\" needs a store that can be away: backend \"shared\" or \"redis\"";
            self.refuse("fault", message.to_owned());
        }
    }
}
