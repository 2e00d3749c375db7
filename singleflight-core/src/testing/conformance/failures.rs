//! What becomes known of a fill that failed, to whom, and for how long.

use std::sync::Arc;
use std::time::Duration;

use super::{Harness, KIND, LONG, MARGIN, SHORT, Subject};
use crate::backend::{Abandon, Acquire, Acquired, Released, Token};
use crate::entry::Kind;
use crate::error::MAX_MESSAGE;

const NOTE: Duration = Duration::from_secs(1);
/// The kind of another function's entries.
const OTHER: Kind = Kind::new(KIND.identity + 1, KIND.version);

impl Subject {
    /// Takes the lease and fails.
    async fn fail(&self, message: &str, cooldown: Duration) -> Token {
        let token = self.take(LONG).await;
        let abandon = Abandon::new(&self.key, token).failed(message, cooldown);
        assert_eq!(self.backend.abandon(abandon).await.expect("an answer"), Released::Freed);
        token
    }

    /// What someone is told who has been waiting on that grant.
    async fn told(&self, waited_on: Option<Token>) -> Option<Arc<str>> {
        let token = Token::random();
        match self.ask(self.request(token).forced(true).waited_on(waited_on)).await {
            Acquired::CoolingDown { left, message } => {
                assert!(!left.is_zero(), "someone who cools down is told for how long");
                Some(message)
            }
            Acquired::Granted => {
                let abandon = Abandon::new(&self.key, token);
                assert_eq!(self.backend.abandon(abandon).await.expect("an answer"), Released::Freed);
                None
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(super) async fn p15_a_failure_is_told_to_those_who_waited_and_to_nobody_else(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let grant = subject.fail("no route", Duration::ZERO).await;
    assert_eq!(subject.told(None).await, None, "a newcomer tries for itself");
    assert_eq!(subject.told(Some(Token::random())).await, None, "another grant is another matter");
    assert_eq!(subject.told(Some(grant)).await.as_deref(), Some("no route"));
    assert_eq!(subject.told(Some(grant)).await.as_deref(), Some("no route"), "and to all of them");
    subject.take(LONG).await;
    let late = subject.ask(subject.request(Token::random()).waited_on(Some(grant))).await;
    assert!(matches!(late, Acquired::CoolingDown { .. }), "also while the next one fills: {late:?}");
}

pub(super) async fn p15_a_failure_is_forgotten_after_a_second(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let grant = subject.fail("no route", Duration::ZERO).await;
    harness.pass(NOTE + MARGIN).await;
    assert_eq!(subject.told(Some(grant)).await, None);
}

pub(super) async fn p15_a_cooldown_is_told_to_everybody_until_it_ends(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.fail("no route", SHORT).await;
    assert_eq!(subject.told(None).await.as_deref(), Some("no route"));
    let Acquired::CoolingDown { left, .. } = subject.acquire(Token::random()).await else {
        panic!("it is still cooling down")
    };
    assert!(left <= SHORT, "{left:?}");
    harness.pass(left + MARGIN).await;
    assert_eq!(subject.told(None).await, None);
}

pub(super) async fn p15_a_failure_is_only_for_calls_of_the_same_function(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let grant = subject.fail("no route", LONG).await;
    let newer = Kind::new(KIND.identity, KIND.version + 1);
    let answer = subject.ask(Acquire::new(&subject.key, Token::random(), LONG, newer)).await;
    assert!(matches!(answer, Acquired::CoolingDown { .. }), "also of another version: {answer:?}");
    let other = Token::random();
    let request = Acquire::new(&subject.key, other, LONG, OTHER).waited_on(Some(grant));
    assert_eq!(subject.ask(request).await, Acquired::Granted);
    assert_eq!(subject.told(None).await.as_deref(), Some("no route"), "which does not end the cool-down");
    let abandon = Abandon::new(&subject.key, other).failed("no luck", LONG);
    assert_eq!(subject.backend.abandon(abandon).await.expect("an answer"), Released::Freed);
    assert_ne!(subject.told(None).await.as_deref(), Some("no luck"), "nor is its failure ours");
    let answer = subject.ask(Acquire::new(&subject.key, Token::random(), LONG, OTHER)).await;
    assert!(matches!(answer, Acquired::CoolingDown { .. }), "but its own: {answer:?}");
}

pub(super) async fn p15_a_forced_acquire_ends_a_cooldown(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let grant = subject.fail("no route", LONG).await;
    let other = Token::random();
    let request = Acquire::new(&subject.key, other, LONG, OTHER);
    assert_eq!(subject.ask(request).await, Acquired::Granted);
    let token = Token::random();
    let request = subject.request(token).forced(true).despite_cooldown(true).waited_on(Some(grant));
    let answer = subject.ask(request).await;
    assert!(matches!(answer, Acquired::Held { grant, .. } if grant == other), "{answer:?}");
    assert_eq!(subject.told(None).await.as_deref(), Some("no route"), "asking alone ends nothing");
    let abandon = Abandon::new(&subject.key, other);
    assert_eq!(subject.backend.abandon(abandon).await.expect("an answer"), Released::Freed);
    assert_eq!(subject.ask(request).await, Acquired::Granted);
    let answer = subject.ask(subject.request(Token::random()).waited_on(Some(grant))).await;
    assert!(matches!(answer, Acquired::Held { grant, .. } if grant == token), "{answer:?}");
    let abandon = Abandon::new(&subject.key, token);
    assert_eq!(subject.backend.abandon(abandon).await.expect("an answer"), Released::Freed);
    assert_eq!(subject.told(None).await, None);
    assert_eq!(subject.told(Some(grant)).await, None);
}

pub(super) async fn p15_a_failed_refresh_leaves_the_entry(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    subject.put(1).await;
    subject.fail("no route", LONG).await;
    assert_eq!(subject.value().await, Some(1));
    assert_eq!(subject.acquire(Token::random()).await, Acquired::Fresh, "freshness goes before failure");
}

pub(super) async fn p15_an_invalidate_ends_cooldown_and_failure(harness: &dyn Harness) {
    let subject = Subject::new(harness);
    let grant = subject.fail("no route", LONG).await;
    subject.backend.invalidate(&subject.key).await.expect("an answer");
    assert_eq!(subject.told(None).await, None);
    assert_eq!(subject.told(Some(grant)).await, None);
}

pub(super) async fn p15_a_message_arrives_whole(harness: &dyn Harness) {
    for message in ["", "!", "0", "1234567890123456", "line\nline\0é漢🦀", &"x".repeat(MAX_MESSAGE)] {
        let subject = Subject::new(harness);
        let grant = subject.fail(message, Duration::ZERO).await;
        assert_eq!(subject.told(Some(grant)).await.as_deref(), Some(message));
        let subject = Subject::new(harness);
        subject.fail(message, LONG).await;
        assert_eq!(subject.told(None).await.as_deref(), Some(message));
    }
}
