//! Tests of the macros where their crate has another name; see `tests/`.
