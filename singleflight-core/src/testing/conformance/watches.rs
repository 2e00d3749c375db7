//! Hearing what becomes of a key.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::{Harness, LONG, Subject};
use crate::backend::{Abandon, Change, News, Token, Watch};

/// Only so that a check fails instead of hanging; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(10);

impl Subject {
    async fn watch(&self) -> Box<dyn Watch> {
        self.backend.watch(&self.key).await.expect("a watch")
    }
}

/// Waits until a change like this is heard, or one that stands for any.
async fn hears(watch: &mut Box<dyn Watch>, wanted: impl Fn(&Change) -> bool) {
    let heard = async {
        loop {
            let change = watch.changed().await;
            if change == Change::Unknown || wanted(&change) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("the change is heard");
}

pub(super) async fn p20_a_watch_hears_a_publish(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    let mut watch = subject.watch().await;
    subject.publish(token, 1).await;
    hears(&mut watch, |change| *change == Change::Published).await;
    assert_eq!(subject.value().await, Some(1), "what is heard can be seen");
}

pub(super) async fn p20_a_watch_hears_an_abandon_and_why(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    for failure in [None, Some(Arc::<str>::from("no route"))] {
        let token = subject.take(LONG).await;
        let mut watch = subject.watch().await;
        let mut abandon = Abandon::new(&subject.key, token);
        abandon.failure = failure.as_deref();
        subject.backend.abandon(abandon).await.expect("an answer");
        let wanted = Change::Abandoned { grant: token, failure };
        hears(&mut watch, |change| *change == wanted).await;
    }
}

pub(super) async fn p20_a_watch_hears_an_invalidate(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.take(LONG).await;
    let mut watch = subject.watch().await;
    subject.backend.invalidate(&subject.key).await.expect("an answer");
    hears(&mut watch, |change| *change == Change::Invalidated).await;
}

pub(super) async fn p20_every_watch_of_a_key_hears(harness: &dyn Harness) {
    let (subject, other) = (Subject::new(harness), Subject::new(harness));
    let token = subject.take(LONG).await;
    let mut watches = [subject.watch().await, subject.watch().await, subject.watch().await];
    drop(subject.watch().await);
    other.put(1).await;
    subject.publish(token, 1).await;
    for watch in &mut watches {
        hears(watch, |change| *change == Change::Published).await;
    }
}

pub(super) async fn p20_a_dropped_wait_loses_no_change(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    let mut watch = subject.watch().await;
    {
        let mut changed = watch.changed();
        poll_fn(|cx| {
            // Its answer, should there be one, is of a change before the publish.
            let _ = changed.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        subject.publish(token, 1).await;
    }
    hears(&mut watch, |change| *change == Change::Published).await;
}

pub(super) async fn p20_a_watch_outlives_many_changes(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let mut watch = subject.watch().await;
    for n in 0..5 {
        subject.put(n).await;
        hears(&mut watch, |change| *change == Change::Published).await;
    }
    let token: Token = subject.take(LONG).await;
    subject.backend.abandon(Abandon::new(&subject.key, token)).await.expect("an answer");
    hears(&mut watch, |change| matches!(change, Change::Abandoned { grant, .. } if *grant == token)).await;
}

pub(super) async fn changes_name_the_keys_that_change(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let mut prefix = subject.key.to_string();
    prefix.pop();
    let Some(mut changes) = subject.backend.changes(&prefix) else { return };
    let mut told = async || {
        let told = async {
            loop {
                match changes.next().await {
                    news if news.key().is_none_or(|key| *key == subject.key) => break news,
                    news => assert!(news.key().is_some_and(|key| key.starts_with(&prefix)), "{news:?}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.expect("the change is told")
    };
    assert_eq!(told().await, News::Listening);
    let grant = subject.put(1).await;
    assert_eq!(told().await, News::Published { key: subject.key.clone(), grant });
    subject.backend.invalidate(&subject.key).await.expect("an answer");
    assert_eq!(told().await, News::Invalidated { key: subject.key.clone() });
}
