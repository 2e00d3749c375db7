//! What any backend says to those who own nothing, the one that keeps nothing included.

use super::{Harness, LONG, Subject};
use crate::backend::{Abandon, Acquired, Invalidated, Note, Published, Released, Renewed, Token};

pub(super) async fn p04_publish_without_any_lease_writes_nothing(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    assert_eq!(subject.publish(Token::random(), 1).await, Published::Refused);
    assert_eq!(subject.value().await, None);
}

pub(super) async fn p05_invalidating_nothing_is_no_error(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    assert_eq!(subject.backend.invalidate(&subject.key).await.expect("an answer"), Invalidated::Absent);
    subject.backend.post(Note::Invalidate { key: subject.key.clone() });
}

pub(super) async fn p07_abandoning_nothing_is_no_error(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let abandon = Abandon::new(&subject.key, Token::random()).failed("why", LONG);
    assert_eq!(subject.backend.abandon(abandon).await.expect("an answer"), Released::NotOwned);
    assert_eq!(subject.acquire(Token::random()).await, Acquired::Granted, "and nobody cools down");
}

pub(super) async fn p13_renewing_nothing_is_no_error(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let renewed = subject.backend.renew(&subject.key, Token::random(), LONG).await;
    assert_eq!(renewed.expect("an answer"), Renewed::Lost);
}

pub(super) async fn p18_nothing_is_read_where_nothing_was_stored(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    assert!(subject.read().await.is_none());
    assert!(subject.backend.peek(&subject.key).is_none());
}

pub(super) async fn p22_keys_of_any_bytes_and_length_can_be_asked_for(harness: &dyn Harness) {
    for subject in odd(harness) {
        assert_eq!(subject.acquire(Token::random()).await, Acquired::Granted, "{:?}", subject.key);
        assert_eq!(subject.publish(Token::random(), 1).await, Published::Refused, "{:?}", subject.key);
        // Some of these keys are everybody's; nothing is to be left for the next who asks.
        subject.backend.invalidate(&subject.key).await.expect("an answer");
    }
}

/// Keys that tempt a backend to treat them as something else.
pub(super) fn odd(harness: &dyn Harness) -> Vec<Subject> {
    let texts = ["{", "}", "{}", "{a}{b}", "a b\r\nc", "\0", "é漢字🦀", "%s*?[x]", "a:b", "\u{feff}"];
    let mut subjects: Vec<_> = texts.iter().map(|text| Subject::with(harness, text)).collect();
    subjects.push(Subject::with(harness, &"x".repeat(10_240)));
    subjects
}
