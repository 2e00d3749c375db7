//! How the service ends.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// Ends when the process is told to stop: by a terminal, or by whoever runs it.
pub(crate) async fn told() {
    let asked = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = asked => {}
    }
}

/// Waits for `served` to end, but no longer than `limit` once the process was told to stop. A load that is cut off frees its
/// lease, or lets it run out, and another process takes over.
pub(crate) async fn within(limit: Duration, served: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let mut served = pin!(served);
    let overdue = async {
        told().await;
        tracing::info!("stopping: no new requests; those that have begun are answered");
        tokio::time::sleep(limit).await;
    };
    tokio::select! {
        ended = &mut served => ended,
        () = overdue => {
            tracing::warn!("stopped with requests unanswered");
            Ok(())
        }
    }
}
