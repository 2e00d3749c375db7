//! Every promise on every in-process backend, and the suite's own eyesight.

/// On shared values.
mod memory {
    singleflight_tests::promises!(singleflight_tests::harness::Memory::default());
}

/// On bytes, as over a wire.
mod bytes {
    singleflight_tests::promises!(singleflight_tests::harness::Bytes::default());
}
