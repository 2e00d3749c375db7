//! Everything at once, against two oracles.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::task::{JoinSet, yield_now};

use super::{Harness, LONG, Subject};
use crate::backend::{Abandon, Acquired, Published, Released, Renewed, Token};

const TASKS: usize = 8;
const ROUNDS: usize = 60;

async fn run<F: Future<Output = ()> + Send + 'static>(task: impl Fn(usize) -> F) {
    let mut tasks: JoinSet<()> = (0..TASKS).map(task).collect();
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no task fails");
    }
}

/// Oracle: from a grant until its holder asks for its end, nobody else is granted.
pub(super) async fn p01_grants_exclude_each_other_in_a_race(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let held = Arc::new(AtomicBool::new(false));
    run(|task| {
        let (subject, held) = (subject.clone(), held.clone());
        async move {
            for round in 0..ROUNDS {
                let token = Token::random();
                if subject.ask(subject.request(token).forced(true)).await != Acquired::Granted {
                    // Neither may disturb the holder.
                    let renewed = subject.backend.renew(&subject.key, token, LONG).await;
                    assert_eq!(renewed.expect("an answer"), Renewed::Lost);
                    assert_eq!(subject.publish(token, 0).await, Published::Refused);
                    continue;
                }
                assert!(!held.swap(true, Ordering::SeqCst), "two grants at once");
                yield_now().await;
                let renewed = subject.backend.renew(&subject.key, token, LONG).await;
                assert_eq!(renewed.expect("an answer"), Renewed::Extended);
                held.store(false, Ordering::SeqCst);
                if (task + round) % 2 == 0 {
                    assert_eq!(subject.publish(token, 1).await, Published::Stored);
                } else {
                    let abandon = Abandon::new(&subject.key, token);
                    assert_eq!(subject.backend.abandon(abandon).await.expect("an answer"), Released::Freed);
                }
            }
        }
    })
    .await;
}

/// Oracle: the source counts up; each change of it is followed by an invalidation, and once that has returned, nothing
/// older than the change is read.
pub(super) async fn p05_nothing_older_than_an_invalidation_is_read(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let source = Arc::new(AtomicU64::new(0));
    let floor = Arc::new(AtomicU64::new(0));
    run(|_| {
        let (subject, source, floor) = (subject.clone(), source.clone(), floor.clone());
        async move {
            for _ in 0..ROUNDS {
                match fastrand::u8(..4) {
                    0 => {
                        let changed = source.fetch_add(1, Ordering::SeqCst) + 1;
                        subject.backend.invalidate(&subject.key).await.expect("an answer");
                        floor.fetch_max(changed, Ordering::SeqCst);
                    }
                    1 => {
                        let token = Token::random();
                        if subject.acquire(token).await == Acquired::Granted {
                            let loaded = source.load(Ordering::SeqCst);
                            for _ in 0..fastrand::u8(..4) {
                                yield_now().await;
                            }
                            subject.publish(token, loaded).await;
                        }
                    }
                    _ => {
                        let floor = floor.load(Ordering::SeqCst);
                        if let Some(read) = subject.value().await {
                            assert!(read >= floor, "read {read} after {floor} was invalidated");
                        }
                    }
                }
            }
        }
    })
    .await;
}
