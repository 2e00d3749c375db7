//! Helpers for tests: a byte-storing backend and the conformance suite.
