use super::*;
use crate::clock::ManualClock;
use crate::entry::Kind;

const SECOND: Duration = Duration::from_secs(1);
const TERMS: NearTerms = NearTerms { capacity: 100, max_age: Duration::from_secs(10), unheard: SECOND };

fn near() -> (Arc<Near>, ManualClock, Arc<str>) {
    let (clock, hand) = Clock::manual();
    let near = Near::new(TERMS, clock);
    near.flush(true);
    (near, hand, "a".into())
}

/// A value that was stored under this grant, fresh for a minute.
fn fresh(grant: Token) -> Fresh {
    let stamp = Stamp::new(Kind::new(1, 0), 1, Duration::ZERO, grant);
    Fresh { value: Arc::new(()), stamp, fresh_for: 60 * SECOND }
}

fn has(near: &Near, grant: Token) -> bool {
    near.peek("a").is_some_and(|copy| copy.stamp.grant == grant)
}

#[test]
fn p18_a_copy_lives_for_its_age_or_for_as_long_as_the_backend_said() {
    let (near, hand, key) = near();
    let grant = Token::random();
    let ticket = near.ticket(&key);
    hand.advance(SECOND);
    near.found(&key, ticket, fresh(grant));
    // Counted from when the backend was asked.
    hand.advance(9 * SECOND - Duration::from_nanos(1));
    assert!(has(&near, grant));
    hand.advance(Duration::from_nanos(1));
    assert!(near.peek("a").is_none());
    near.found(&key, near.ticket(&key), Fresh { fresh_for: SECOND, ..fresh(grant) });
    hand.advance(SECOND);
    assert!(near.peek("a").is_none());
}

#[test]
fn p05_an_answer_that_an_invalidation_overtook_is_dropped() {
    let (near, _hand, key) = near();
    for forget in [Near::forget, |near: &Near, key: &str| near.changed(key, Some(Token::random()))] {
        let ticket = near.ticket(&key);
        forget(&near, &key);
        near.found(&key, ticket.clone(), fresh(Token::random()));
        near.stored(&key, ticket, fresh(Token::random()));
        assert!(near.peek("a").is_none());
    }
}

#[test]
fn p05_a_copy_is_dropped_when_its_key_changes() {
    let (near, _hand, key) = near();
    for change in [None, Some(Token::random())] {
        near.found(&key, near.ticket(&key), fresh(Token::random()));
        near.changed(&key, change);
        assert!(near.peek("a").is_none());
    }
    assert_eq!(near.figures().dropped, 2);
}

#[test]
fn the_message_of_its_own_publish_does_not_drop_a_copy() {
    let (near, _hand, key) = near();
    // The message may come after the answer, or before it.
    for before in [false, true] {
        let grant = Token::random();
        let ticket = near.ticket(&key);
        if before {
            near.changed(&key, Some(grant));
        }
        near.stored(&key, ticket, fresh(grant));
        if !before {
            near.changed(&key, Some(grant));
        }
        assert!(has(&near, grant));
    }
}

#[test]
fn p05_an_older_answer_does_not_replace_what_was_stored_meanwhile() {
    let (near, _hand, key) = near();
    let (old, new) = (Token::random(), Token::random());
    let (looks, stores) = (near.ticket(&key), near.ticket(&key));
    near.stored(&key, stores, fresh(new));
    near.found(&key, looks.clone(), fresh(old));
    near.changed(&key, Some(new));
    near.found(&key, looks, fresh(old));
    assert!(has(&near, new));
}

#[test]
fn p05_what_may_have_been_missed_is_dropped_and_nothing_lives_long_while_deaf() {
    let (near, hand, key) = near();
    let grant = Token::random();
    near.found(&key, near.ticket(&key), fresh(grant));
    let ticket = near.ticket(&key);
    near.flush(false);
    assert!(near.peek("a").is_none());
    near.found(&key, ticket, fresh(grant));
    assert!(near.peek("a").is_none(), "the backend was asked before");
    near.found(&key, near.ticket(&key), fresh(grant));
    assert!(has(&near, grant));
    hand.advance(SECOND);
    assert!(near.peek("a").is_none());
    near.found(&key, near.ticket(&key), fresh(grant));
    near.flush(true);
    assert!(near.peek("a").is_none());
    assert_eq!(near.figures().flushes, 3);
}

#[tokio::test]
async fn p23_the_task_that_listens_ends_with_the_cache() {
    let backend = MemoryBackend::new();
    let near = Near::new(TERMS, Clock::system());
    let listen = || near.listen(&(Arc::new(backend.clone()) as Arc<dyn LeaseBackend>), "");
    listen();
    listen();
    while !near.figures().hears {
        tokio::task::yield_now().await;
    }
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks(), 1);
    drop(near);
    while tasks() > 0 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_cache_whose_runtime_has_ended_forgets_and_listens_again() {
    let backend: Arc<dyn LeaseBackend> = Arc::new(MemoryBackend::new());
    let near = Near::new(TERMS, Clock::system());
    near.listen(&backend, "");
    let grant = Token::random();
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            near.listen(&backend, "");
            while !near.figures().hears {
                tokio::task::yield_now().await;
            }
        });
        let key = "a".into();
        near.found(&key, near.ticket(&key), fresh(grant));
        assert!(has(&near, grant));
        drop(runtime);
        assert!(near.peek("a").is_none() && !near.figures().hears);
    }
}
