//! What goes on between the processes of a test and their backends.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use singleflight_core::LeaseBackend;
use singleflight_core::testing::FaultyBackend;

thread_local! {
    /// Each test has a thread of its own, and all its tasks run there.
    static WAYS: RefCell<Vec<Weak<FaultyBackend>>> = const { RefCell::new(Vec::new()) };
}

/// One more process's way to this backend.
#[must_use]
pub fn to(backend: Arc<dyn LeaseBackend>) -> Arc<FaultyBackend> {
    let way = Arc::new(FaultyBackend::around(backend));
    WAYS.with_borrow_mut(|ways| ways.push(Arc::downgrade(&way)));
    way
}

/// What goes on between the processes of a test and their backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Steps that have been asked for.
    pub begun: u64,
    /// Steps that the backend is at; those that stand at a gate are not.
    pub under_way: u64,
}

/// What has gone on so far in this thread.
#[must_use]
pub fn traffic() -> Traffic {
    WAYS.with_borrow(|ways| {
        let ways: Vec<_> = ways.iter().filter_map(Weak::upgrade).collect();
        let begun = ways.iter().map(|way| way.calls().total()).sum();
        Traffic { begun, under_way: ways.iter().map(|way| way.under_way()).sum() }
    })
}
