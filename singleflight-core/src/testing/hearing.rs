//! What a process hears of a backend's news while its way there is cut or deaf: nothing.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::backend::{Change, Changes, News, Watch};

/// Whether news arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hearing {
    pub(super) cut: bool,
    pub(super) deaf: bool,
}

impl Hearing {
    const fn nothing(self) -> bool {
        self.cut || self.deaf
    }
}

/// A watch that hears nothing for as long as nothing is heard, and afterwards that it may have missed something.
#[derive(Debug)]
pub(super) struct FaultyWatch {
    inner: Box<dyn Watch>,
    hearing: watch::Receiver<Hearing>,
    missed: bool,
}

impl FaultyWatch {
    pub(super) fn new(inner: Box<dyn Watch>, mut hearing: watch::Receiver<Hearing>) -> Self {
        let missed = hearing.borrow_and_update().nothing();
        Self { inner, hearing, missed }
    }
}

#[async_trait]
impl Watch for FaultyWatch {
    async fn changed(&mut self) -> Change {
        loop {
            // Also where it was cut and mended since the last look.
            self.missed |= self.hearing.has_changed().unwrap_or_default();
            let nothing = self.hearing.borrow_and_update().nothing();
            if !nothing && std::mem::take(&mut self.missed) {
                return Change::Unknown;
            }
            match either(self.hearing.changed(), self.inner.changed()).await {
                Either::First(Ok(())) => self.missed = true,
                // The backend is gone, and nothing will be heard of it any more.
                Either::First(Err(_)) => std::future::pending().await,
                Either::Second(change) if !nothing => return change,
                Either::Second(_) => self.missed = true,
            }
        }
    }
}

/// The feed of changes, of which nothing is told for as long as nothing is heard.
#[derive(Debug)]
pub(super) struct FaultyChanges {
    inner: Box<dyn Changes>,
    hearing: watch::Receiver<Hearing>,
    /// What it has told last: that it listens, or that it is deaf.
    listens: Option<bool>,
}

impl FaultyChanges {
    pub(super) fn new(inner: Box<dyn Changes>, mut hearing: watch::Receiver<Hearing>) -> Self {
        hearing.borrow_and_update();
        Self { inner, hearing, listens: None }
    }
}

#[async_trait]
impl Changes for FaultyChanges {
    async fn next(&mut self) -> News {
        let mut changed = self.hearing.has_changed().unwrap_or_default();
        loop {
            let nothing = self.hearing.borrow_and_update().nothing();
            if changed && !nothing {
                // Mended; perhaps it was cut for a moment only: something may have been missed.
                self.listens = self.listens.map(|_| false);
            }
            match self.listens {
                Some(true) if nothing => {
                    self.listens = Some(false);
                    return News::Deaf;
                }
                Some(false) if !nothing => {
                    self.listens = Some(true);
                    return News::Listening;
                }
                _ => {}
            }
            match either(self.hearing.changed(), self.inner.next()).await {
                Either::First(Ok(())) => changed = true,
                Either::First(Err(_)) => std::future::pending().await,
                Either::Second(News::Listening) if nothing => self.listens = Some(false),
                Either::Second(_) if nothing => {}
                Either::Second(news) => {
                    self.listens = Some(news != News::Deaf);
                    return news;
                }
            }
        }
    }
}

enum Either<A, B> {
    First(A),
    Second(B),
}

/// The output of whichever is ready, of the first where both are; the other loses nothing if it may be dropped.
async fn either<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = a.as_mut().poll(cx) {
            return Poll::Ready(Either::First(output));
        }
        b.as_mut().poll(cx).map(Either::Second)
    })
    .await
}
