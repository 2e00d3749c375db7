//! Tests of the whole; see `tests/`.
