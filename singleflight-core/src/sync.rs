//! The locks of the flight table: the standard library's, or the model checker's under `--cfg shuttle`.

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, Weak};
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, Weak};

use std::sync::PoisonError;

/// Locks, also after a panic elsewhere: every critical section leaves its data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
