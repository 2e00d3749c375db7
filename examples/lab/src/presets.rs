//! The lessons.

use serde::Serialize;
use serde_json::{Value, json};

/// Settings that show one thing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Preset {
    name: &'static str,
    title: &'static str,
    lesson: &'static str,
    /// What differs from the defaults, side by side.
    sides: Vec<Value>,
}

pub(crate) fn presets() -> Vec<Preset> {
    vec![Preset {
        name: "herd",
        title: "Two hundred misses, one load",
        lesson: "Without coalescing every caller loads, and they queue for the source. With it one caller loads, and \
                 the others get what it loaded.",
        sides: vec![json!({ "backend": "none" }), json!({ "backend": "memory" })],
    }]
}
