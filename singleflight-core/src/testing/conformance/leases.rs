//! Who may fill, and who no longer may.

use super::{Harness, KIND, LONG, MARGIN, SHORT, Subject};
use crate::backend::{Abandon, Acquire, Acquired, Invalidated, Note, Published, Released, Renewed, Token};

impl Subject {
    async fn abandon(&self, token: Token) -> Released {
        self.backend.abandon(Abandon::new(&self.key, token)).await.expect("abandon answers")
    }

    async fn renew(&self, token: Token) -> Renewed {
        self.backend.renew(&self.key, token, LONG).await.expect("renew answers")
    }

    async fn invalidate(&self) -> Invalidated {
        self.backend.invalidate(&self.key).await.expect("invalidate answers")
    }

    /// Who is said to hold the lease.
    async fn holder(&self) -> Option<Token> {
        match self.ask(self.request(Token::random()).forced(true)).await {
            Acquired::Held { grant, left } => {
                assert!(!left.is_zero() && left <= LONG, "{left:?}");
                Some(grant)
            }
            _ => None,
        }
    }
}

pub(super) async fn p01_a_lease_is_granted_once_and_its_holder_named(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    assert_eq!(subject.holder().await, Some(token));
    assert_eq!(subject.holder().await, Some(token), "asking changes nothing");
}

pub(super) async fn p01_of_many_who_ask_at_once_one_is_granted(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let subject = subject.clone();
            tokio::spawn(async move { subject.acquire(Token::random()).await })
        })
        .collect();
    let mut granted = 0;
    for asked in asking {
        granted += usize::from(asked.await.expect("no panic") == Acquired::Granted);
    }
    assert_eq!(granted, 1);
}

pub(super) async fn p02_a_repeated_acquire_is_the_same_grant(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    assert_eq!(subject.acquire(token).await, Acquired::Granted);
    assert_eq!(subject.holder().await, Some(token));
    assert_eq!(subject.publish(token, 1).await, Published::Stored);
}

pub(super) async fn p02_a_repeated_acquire_starts_the_ttl_again(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(SHORT).await;
    assert_eq!(subject.acquire(token).await, Acquired::Granted);
    harness.pass(SHORT + MARGIN).await;
    assert_eq!(subject.holder().await, Some(token));
}

pub(super) async fn p03_publish_stores_the_entry_and_ends_the_lease(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.put(7).await;
    assert_eq!(subject.value().await, Some(7));
    assert_eq!(subject.renew(token).await, Renewed::Lost);
    assert_eq!(subject.abandon(token).await, Released::NotOwned);
    assert_eq!(subject.holder().await, None);
    assert_eq!(subject.value().await, Some(7));
}

pub(super) async fn p03_a_repeated_publish_is_recognised(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.put(7).await;
    assert_eq!(subject.publish(token, 7).await, Published::Stored);
    let next = subject.take(LONG).await;
    assert_eq!(subject.publish(token, 7).await, Published::Stored, "also under another's lease");
    assert_eq!(subject.publish(next, 8).await, Published::Stored);
    assert_eq!(subject.publish(token, 7).await, Published::Refused, "but not over another's entry");
    assert_eq!(subject.value().await, Some(8));
    subject.invalidate().await;
    assert_eq!(subject.publish(next, 8).await, Published::Refused, "nor after the entry has gone");
    assert_eq!(subject.value().await, None);
}

pub(super) async fn p04_publish_without_the_live_token_writes_nothing(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put(1).await;
    let token = subject.take(LONG).await;
    assert_eq!(subject.publish(Token::random(), 2).await, Published::Refused);
    assert_eq!(subject.value().await, Some(1));
    assert_eq!(subject.holder().await, Some(token), "the lease is untouched");
    assert_eq!(subject.publish(token, 3).await, Published::Stored);
}

pub(super) async fn p04_publish_after_the_lease_expired_writes_nothing(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(SHORT).await;
    harness.pass(SHORT + MARGIN).await;
    assert_eq!(subject.publish(token, 1).await, Published::Refused, "although nobody else has it");
    assert_eq!(subject.value().await, None);
}

pub(super) async fn p04_publish_after_a_takeover_writes_nothing(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let old = subject.take(SHORT).await;
    harness.pass(SHORT + MARGIN).await;
    let new = subject.take(LONG).await;
    assert_eq!(subject.publish(old, 1).await, Published::Refused);
    assert_eq!(subject.value().await, None);
    assert_eq!(subject.publish(new, 2).await, Published::Stored);
    assert_eq!(subject.publish(old, 1).await, Published::Refused);
    assert_eq!(subject.value().await, Some(2));
}

pub(super) async fn p05_invalidate_removes_the_entry(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put(1).await;
    assert_eq!(subject.invalidate().await, Invalidated::Removed);
    assert_eq!(subject.value().await, None);
    assert!(subject.backend.peek(&subject.key).is_none());
    assert_eq!(subject.invalidate().await, Invalidated::Absent);
}

pub(super) async fn p05_invalidate_voids_the_lease(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let old = subject.take(LONG).await;
    assert_eq!(subject.invalidate().await, Invalidated::Absent);
    assert_eq!(subject.publish(old, 1).await, Published::Refused);
    assert_eq!(subject.renew(old).await, Renewed::Lost);
    assert_eq!(subject.abandon(old).await, Released::NotOwned);
    assert_eq!(subject.value().await, None);
    let new = subject.take(LONG).await;
    assert_eq!(subject.publish(old, 1).await, Published::Refused);
    assert_eq!(subject.publish(new, 2).await, Published::Stored);
}

pub(super) async fn p05_a_posted_invalidate_does_the_same(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put(1).await;
    let token = subject.take(LONG).await;
    subject.backend.post(Note::Invalidate { key: subject.key.clone() });
    for _ in 0..500 {
        if subject.value().await.is_none() {
            break;
        }
        harness.pass(MARGIN / 2).await;
    }
    assert_eq!(subject.publish(token, 1).await, Published::Refused);
    assert_eq!(subject.value().await, None);
}

pub(super) async fn p07_abandon_frees_only_its_own_lease(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    assert_eq!(subject.abandon(Token::random()).await, Released::NotOwned);
    assert_eq!(subject.holder().await, Some(token));
    assert_eq!(subject.abandon(token).await, Released::Freed);
    assert_eq!(subject.abandon(token).await, Released::NotOwned, "a repeat finds nothing to do");
}

pub(super) async fn p08_an_abandoned_lease_can_be_had_at_once(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    assert_eq!(subject.abandon(token).await, Released::Freed);
    assert_eq!(subject.publish(token, 1).await, Published::Refused);
    subject.take(LONG).await;
}

pub(super) async fn p08_a_posted_abandon_frees_the_lease(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(LONG).await;
    let (key, failure) = (subject.key.clone(), Some("dropped".into()));
    subject.backend.post(Note::Abandon { key, token, failure, cooldown: std::time::Duration::ZERO });
    let next = Token::random();
    for _ in 0..500 {
        if subject.acquire(next).await == Acquired::Granted {
            return;
        }
        harness.pass(MARGIN / 2).await;
    }
    panic!("a posted abandon frees the lease");
}

pub(super) async fn p10_a_lost_acquire_is_cleaned_up_by_its_token(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = Token::random();
    // Nobody hears the answer, if it was one.
    drop(subject.backend.acquire(subject.request(token)).await);
    assert_eq!(subject.abandon(token).await, Released::Freed);
    subject.take(LONG).await;
}

pub(super) async fn p11_an_expired_lease_is_granted_again_and_not_before(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let old = subject.take(SHORT).await;
    let new = Token::random();
    let Acquired::Held { grant, left } = subject.acquire(new).await else { panic!("not before") };
    assert_eq!(grant, old);
    assert!(!left.is_zero() && left <= SHORT, "{left:?}");
    harness.pass(left + MARGIN).await;
    assert_eq!(subject.acquire(new).await, Acquired::Granted);
    assert_eq!(subject.abandon(old).await, Released::NotOwned);
    assert_eq!(subject.holder().await, Some(new));
}

pub(super) async fn p13_renew_extends_only_its_own_lease(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(SHORT).await;
    assert_eq!(subject.renew(Token::random()).await, Renewed::Lost);
    assert_eq!(subject.renew(token).await, Renewed::Extended);
    harness.pass(SHORT + MARGIN).await;
    assert_eq!(subject.holder().await, Some(token));
    assert_eq!(subject.publish(token, 1).await, Published::Stored);
}

pub(super) async fn p13_an_expired_lease_cannot_be_renewed(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.take(SHORT).await;
    harness.pass(SHORT + MARGIN).await;
    assert_eq!(subject.renew(token).await, Renewed::Lost);
    let answer = subject.ask(Acquire::new(&subject.key, Token::random(), LONG, KIND)).await;
    assert_eq!(answer, Acquired::Granted);
}
