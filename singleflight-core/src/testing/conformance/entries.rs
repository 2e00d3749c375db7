//! What is stored, how long, and for whom it counts.

use std::time::Duration;

use super::unowned::odd;
use super::{Harness, KIND, LONG, MARGIN, SHORT, Subject, number};
use crate::backend::{Acquired, Invalidated, Medium, Published, Token};
use crate::entry::Kind;

impl Subject {
    /// Stores a value with these TTLs.
    async fn put_for(&self, value: u64, soft: Duration, hard: Duration) {
        let token = self.take(LONG).await;
        let mut offer = self.offer(token, value);
        (offer.soft_ttl, offer.hard_ttl) = (soft, hard);
        assert_eq!(self.send(offer).await, Published::Stored);
    }

    /// Offers a value of this kind, under a lease of its own.
    async fn put_as(&self, kind: Kind, value: u64) -> Published {
        let token = self.take(LONG).await;
        let mut offer = self.offer(token, value);
        offer.stamp.kind = kind;
        self.send(offer).await
    }

    async fn acquire_as(&self, kind: Kind) -> Acquired {
        let mut request = self.request(Token::random());
        request.kind = kind;
        self.ask(request).await
    }
}

pub(super) async fn p09_every_entry_says_when_it_is_gone(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put_for(1, LONG, 2 * LONG).await;
    let entry = subject.read().await.expect("an entry");
    assert!(entry.gone_in() > LONG && entry.gone_in() <= 2 * LONG, "{entry:?}");
    assert!(entry.fresh_for() > LONG / 2 && entry.fresh_for() <= LONG, "{entry:?}");
}

pub(super) async fn p18_hard_expired_entries_are_never_read(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put_for(1, SHORT, SHORT).await;
    assert_eq!(subject.value().await, Some(1));
    harness.pass(SHORT + MARGIN).await;
    assert_eq!(subject.value().await, None);
    assert!(subject.backend.peek(&subject.key).is_none());
    assert_eq!(subject.backend.invalidate(&subject.key).await.expect("an answer"), Invalidated::Absent);
    assert_eq!(subject.acquire(Token::random()).await, Acquired::Granted);
}

pub(super) async fn p18_soft_expired_entries_are_read_and_not_fresh(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put_for(1, SHORT, LONG).await;
    assert!(subject.read().await.expect("an entry").is_fresh());
    harness.pass(SHORT + MARGIN).await;
    let entry = subject.read().await.expect("a stale entry");
    assert!(!entry.is_fresh() && !entry.gone_in().is_zero(), "{entry:?}");
    assert_eq!(number(&entry), 1);
    assert_eq!(subject.acquire(Token::random()).await, Acquired::Granted);
    assert_eq!(subject.value().await, Some(1), "also while it is being refreshed");
}

pub(super) async fn p18_a_fresh_entry_is_answered_instead_of_the_lease(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.put(1).await;
    assert_eq!(subject.acquire(Token::random()).await, Acquired::Fresh);
    subject.take(LONG).await;
    assert_eq!(subject.acquire(Token::random()).await, Acquired::Fresh, "also while someone refreshes");
    let late = subject.request(Token::random()).waited_on(Some(token));
    assert_eq!(subject.ask(late).await, Acquired::Fresh);
}

pub(super) async fn p18_a_forced_acquire_ignores_freshness(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put(1).await;
    let token = Token::random();
    assert_eq!(subject.ask(subject.request(token).forced(true)).await, Acquired::Granted);
    let other = subject.ask(subject.request(Token::random()).forced(true)).await;
    assert!(matches!(other, Acquired::Held { grant, .. } if grant == token), "{other:?}");
    assert_eq!(subject.publish(token, 2).await, Published::Stored);
    assert_eq!(subject.value().await, Some(2));
}

pub(super) async fn p18_payload_and_stamp_come_back(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let token = subject.put(u64::MAX).await;
    let entry = subject.read().await.expect("an entry");
    assert_eq!(number(&entry), u64::MAX);
    assert_eq!(entry.stamp, subject.offer(token, 0).stamp);
}

pub(super) async fn p18_an_entry_of_another_kind_is_not_fresh(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let stranger = Kind::new(KIND.identity ^ 1, KIND.version);
    let older = Kind::new(KIND.identity, KIND.version - 1);
    let newer = Kind::new(KIND.identity, KIND.version + 1);
    for kind in [stranger, older, newer] {
        let subject = Subject::new(harness);
        subject.put(1).await;
        assert_eq!(subject.acquire_as(kind).await, Acquired::Granted, "{kind:?}");
    }
    subject.put(1).await;
    assert_eq!(subject.put_as(stranger, 2).await, Published::Stored, "identities replace each other");
    assert_eq!(subject.acquire_as(stranger).await, Acquired::Fresh);
    assert_eq!(subject.acquire_as(KIND).await, Acquired::Granted);
}

pub(super) async fn p18_a_higher_version_replaces_a_lower_and_not_the_other_way(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let newer = Kind::new(KIND.identity, KIND.version + 1);
    subject.put(1).await;
    assert_eq!(subject.put_as(newer, 2).await, Published::Stored);
    assert_eq!(subject.put_as(KIND, 3).await, Published::Refused);
    let entry = subject.read().await.expect("the newer entry");
    assert_eq!((number(&entry), entry.stamp.kind), (2, newer));
    // `take` would not be granted had the refusal kept the lease.
    subject.take(LONG).await;
}

pub(super) async fn p18_peek_answers_as_the_medium_says(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put(1).await;
    let peeked = subject.backend.peek(&subject.key).map(|entry| number(&entry));
    assert_eq!(peeked, (subject.backend.medium() == Medium::Values).then_some(1));
}

pub(super) async fn p22_keys_do_not_touch_each_other(harness: &dyn Harness) {
    let (a, b) = (Subject::with(harness, "a"), Subject::with(harness, "b"));
    let token = a.take(LONG).await;
    b.put(2).await;
    assert_eq!(b.publish(token, 3).await, Published::Refused, "a token is good for one key");
    b.backend.invalidate(&b.key).await.expect("an answer");
    assert_eq!(a.publish(token, 1).await, Published::Stored);
    assert_eq!((a.value().await, b.value().await), (Some(1), None));
}

pub(super) async fn p22_keys_of_any_bytes_and_length_keep_their_values(harness: &dyn Harness) {
    // The empty key is everybody's; what a check before has left there is removed first.
    let nobodys = Subject { key: "".into(), ..Subject::new(harness) };
    nobodys.backend.invalidate("").await.expect("an answer");
    let subjects = odd(harness).into_iter().chain([nobodys.clone()]);
    let subjects: Vec<(u64, Subject)> = (0..).zip(subjects).collect();
    for (n, subject) in &subjects {
        subject.put(*n).await;
    }
    for (n, subject) in &subjects {
        assert_eq!(subject.value().await, Some(*n), "{:?}", subject.key);
    }
    nobodys.backend.invalidate("").await.expect("an answer");
}
