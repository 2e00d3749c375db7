//! The names of options, and what was meant by one that is none.

use proc_macro2::Ident;

use crate::diag::{list, nearest};

/// The options of `#[single_flight]`.
pub(crate) const OPTIONS: [&str; 18] = [
    "key",
    "ttl",
    "soft_ttl",
    "lock_ttl_ms",
    "losers",
    "default",
    "negative_ttl",
    "skip",
    "spawn",
    "local",
    "version",
    "errors",
    "share_error",
    "cache_if",
    "flights",
    "policy",
    "name",
    "crate",
];

/// What is set in a policy only, and how.
const POLICY_ONLY: [(&str, &str); 6] = [
    ("max_hold", "max_hold(Duration::from_secs(60))"),
    ("wait", "wait(Duration::from_secs(5))"),
    ("on_timeout", "on_timeout(OnTimeout::Fail)"),
    ("early", "early(1.0)"),
    ("jitter", "jitter(0.1)"),
    ("error_cooldown", "error_cooldown(Duration::from_secs(1))"),
];

/// What is the engine's business, and how its builder is told.
const ENGINE_ONLY: [(&str, &str); 7] = [
    ("capacity", MEMORY),
    ("max_capacity", MEMORY),
    ("size", MEMORY),
    ("near", "near(10_000, Duration::from_secs(5))"),
    ("namespace", "namespace(\"shop\")"),
    ("codec", "codec(Codec::Json)"),
    ("observer", "observer(Arc::new(..))"),
];
const MEMORY: &str = "memory(MemoryBackend::builder().capacity(100_000))";

/// Options of other crates' attributes, and what they are called here.
const ELSEWHERE: [(&str, &str); 11] = [
    ("time", "ttl"),
    ("time_to_live", "ttl"),
    ("stale_ttl", "soft_ttl"),
    ("refresh_after", "soft_ttl"),
    ("expire", "ttl"),
    ("expires", "ttl"),
    ("max_age", "ttl"),
    ("ttl_secs", "ttl"),
    ("grace", "soft_ttl"),
    ("ignore", "skip"),
    ("backend", "flights"),
];

/// The sentence for an option that does not exist.
pub(crate) fn unknown(key: &Ident, known: &[&str], attribute: &str) -> syn::Error {
    let name = key.to_string();
    let message = if let Some((_, call)) = POLICY_ONLY.iter().find(|(only, _)| *only == name) {
        format!(
            "`{name}` is not an option of `{attribute}`: set it in a policy that functions share, \
             `const HOT: Policy = Policy::new().{call};`, and write `policy = HOT`"
        )
    } else if let Some((_, call)) = ENGINE_ONLY.iter().find(|(only, _)| *only == name) {
        format!(
            "`{name}` is not an option of `{attribute}`: it is of the engine, for all functions together, \
             `SingleFlight::builder().{call}`"
        )
    } else if let Some(near) = elsewhere(&name, known).or_else(|| nearest(&name, known.iter().copied())) {
        format!("`{name}` is not an option of `{attribute}`: did you mean `{near}`?")
    } else {
        format!(
            "`{name}` is not an option of `{attribute}`; there are {}",
            list(known.iter().copied(), "and")
        )
    };
    syn::Error::new(key.span(), message)
}

/// The known option that is called like this in other crates.
fn elsewhere<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let (_, here) = ELSEWHERE.iter().find(|(there, _)| *there == name)?;
    known.iter().copied().find(|known| known == here)
}
