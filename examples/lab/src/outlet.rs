//! The way from a race to whoever watches it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Bytes;
use futures_core::Stream;
use tokio::sync::{Notify, mpsc};

/// More lines than this wait for no reader: whoever can wait until they are fetched does.
const ROOM: usize = 4096;

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Outlet {
    lines: mpsc::UnboundedSender<Bytes>,
    fill: Arc<Fill>,
}

/// How many lines have not been fetched.
#[derive(Debug, Default)]
struct Fill {
    lines: AtomicUsize,
    fetched: Notify,
}

/// Where they come out. Dropping it ends the race.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: mpsc::UnboundedReceiver<Bytes>,
    fill: Arc<Fill>,
}

/// Both ends of a way.
pub(crate) fn outlet() -> (Outlet, Lines) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let fill = Arc::new(Fill::default());
    (Outlet { lines: sender, fill: fill.clone() }, Lines { lines: receiver, fill })
}

impl Outlet {
    /// Sends a line, at once: what happens in a `Drop` cannot wait. Whoever can waits for [`room`](Self::room) first.
    pub(crate) fn send(&self, line: Vec<u8>) {
        self.fill.lines.fetch_add(1, Ordering::Relaxed);
        // Nobody reads any more: the race is about to end.
        let _ = self.lines.send(line.into());
    }

    /// Waits until there is room, or nobody reads any more.
    pub(crate) async fn room(&self) {
        while self.fill.lines.load(Ordering::Relaxed) > ROOM && !self.lines.is_closed() {
            let fetched = self.fill.fetched.notified();
            tokio::pin!(fetched);
            fetched.as_mut().enable();
            if self.fill.lines.load(Ordering::Relaxed) > ROOM {
                tokio::select! {
                    () = fetched => {}
                    () = self.lines.closed() => {}
                }
            }
        }
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.lines.closed().await;
    }
}

impl Stream for Lines {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let line = self.lines.poll_recv(cx);
        if let Poll::Ready(Some(_)) = &line {
            self.fill.lines.fetch_sub(1, Ordering::Relaxed);
            self.fill.fetched.notify_waiters();
        }
        line.map(|line| line.map(Ok))
    }
}
