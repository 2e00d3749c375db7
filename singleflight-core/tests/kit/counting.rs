//! What is said about what was counted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use singleflight_core::testing::{Kit, Method};

use crate::repository::{Users, read};

/// The message of the assertion that fails.
fn message(assertion: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).expect_err("the assertion fails");
    *panic.downcast::<String>().expect("it says why")
}

#[tokio::test]
async fn functions_are_named_by_label_and_by_its_end() {
    let (kit, users) = (Kit::new(), Users::default());
    read(&kit, &users, 1).await;
    kit.scope(users.count()).await.unwrap();
    for name in ["find", "repository::find", "kit::repository::find"] {
        let figures = kit.figures(name);
        assert_eq!((figures.fills, kit.fills(name)), (1, 1), "{name}");
    }
    assert_eq!(kit.fills("users.count"), 1);
}

#[tokio::test]
async fn a_figure_that_differs_is_told_with_the_others() {
    let (kit, users) = (Kit::new(), Users::default());
    read(&kit, &users, 1).await;
    read(&kit, &users, 1).await;
    let told = message(|| kit.assert_fills("find", 2));
    assert!(told.starts_with("`find` was to have fills = 2, and has fills = 1; counted so far:\n"), "{told}");
    assert!(told.contains("repository::find: hits = 1, fills = 1, acquires_granted = 1"), "{told}");
    let told = message(|| drop(kit.assert("find").fills(1).stale(3)));
    assert!(told.contains("was to have stale = 3, and has stale = 0"), "{told}");
    let told = message(|| kit.assert_not_called("find"));
    assert!(told.contains("was not to be called, and has been:") && told.contains("fills = 1"), "{told}");
}

#[tokio::test]
async fn an_unknown_name_is_told_with_those_that_there_are() {
    let (kit, users) = (Kit::new(), Users::default());
    let told = message(|| kit.assert_fills("fnid", 0));
    assert!(told.contains("no function named `fnid`") && told.contains("none has"), "{told}");
    read(&kit, &users, 1).await;
    kit.scope(users.count()).await.unwrap();
    let told = message(|| kit.assert_fills("fnid", 0));
    assert!(
        told.contains("repository::find: fills = 1") && told.contains("users.count: fills = 1"),
        "{told}"
    );
    assert!(message(|| drop(kit.figures("ind"))).contains("no function named `ind`"));
    kit.assert_not_called("remove");
}

#[tokio::test]
async fn where_an_assertion_stands_is_told() {
    let (kit, users) = (Kit::new(), Users::default());
    read(&kit, &users, 1).await;
    let here = std::sync::Arc::new(std::sync::Mutex::new(None));
    let (seen, before) = (here.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |info| {
        *seen.lock().unwrap() = info.location().map(|at| at.file().to_owned());
    }));
    drop(message(|| kit.assert_fills("find", 7)));
    std::panic::set_hook(before);
    assert_eq!(here.lock().unwrap().as_deref(), Some(file!()));
}

/// Nobody sleeps: nine wait before one loads.
#[tokio::test]
async fn a_herd_is_one_load() {
    for kit in [Kit::new(), Kit::bytes()] {
        let users = Users::default();
        let call = |_| {
            let users = users.clone();
            async move { users.find(1).await }
        };
        for user in kit.herd(10, "user:1", call).await {
            assert_eq!(user.unwrap().query, 1);
        }
        kit.assert("find").fills(1).follows(9).hits(0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herd_on_several_threads_is_one_load() {
    for n in [1, 2, 100] {
        let kit = Kit::bytes();
        let users = Arc::new(Users::default());
        let call = |_| {
            let users = users.clone();
            async move { users.find(1).await }
        };
        assert_eq!(kit.herd(n, "user:1", call).await.len(), n);
        kit.assert("find").fills(1).follows(n as u64 - 1);
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "2 followers were to wait for `user:1` within 60s, and 1 do; loads in progress: \
                           `user:1` (1 wait)")]
async fn followers_that_do_not_come_are_told() {
    let (kit, users) = (Kit::new(), Users::default());
    let _gate = kit.backend().on(Method::Acquire).hold();
    for _ in 0..2 {
        let users = users.clone();
        drop(kit.spawn(async move { users.find(1).await }));
    }
    kit.until_followers("user:1", 2).await;
}
