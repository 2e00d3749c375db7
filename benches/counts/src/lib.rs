//! What is counted is in `benches/counts.rs`; this package is one of its own, so that nobody builds the peers for it.
