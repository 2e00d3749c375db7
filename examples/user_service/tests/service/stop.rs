//! The service is told to stop.

use reqwest::StatusCode;

use crate::fleet::{Fleet, until};

#[tokio::test]
async fn a_request_that_has_begun_is_answered_and_its_value_is_there_for_the_others() {
    // However busy the machine is, it is told in the middle of its query and has the time to end it.
    let slow = [("QUERY_DELAY_MS", "4000"), ("SHUTDOWN_S", "60")];
    let mut fleet = Fleet::start_each([&slow, &[]]);
    let path = format!("/users/{}", fleet.a.user("ada").await);

    let request = tokio::spawn(reqwest::get(fleet.a.url(&path)));
    until("the query", async || fleet.a.figure("singleflight_in_progress", "").await > 0.0).await;
    fleet.a.terminate();
    assert_eq!(request.await.expect("no panic").expect("it is answered").status(), StatusCode::OK);
    assert!(fleet.a.ended().success());

    assert_eq!(fleet.b.get(&path).await.status(), StatusCode::OK);
    assert!(fleet.b.figure("singleflight_fills_total", "::find\"").await.abs() < f64::EPSILON);
}

/// An instance that is killed in the middle of its query leaves a lease behind, which ends by itself.
#[tokio::test]
async fn the_others_take_over_from_an_instance_that_was_cut_off() {
    // Its query does not end by itself while the test runs.
    let slow = [("QUERY_DELAY_MS", "60000"), ("SHUTDOWN_S", "0")];
    let mut fleet = Fleet::start_each([&slow, &[]]);
    let path = format!("/users/{}", fleet.a.user("ada").await);

    let request = tokio::spawn(reqwest::get(fleet.a.url(&path)));
    until("the query", async || fleet.a.figure("singleflight_in_progress", "").await > 0.0).await;
    fleet.a.terminate();
    assert!(fleet.a.ended().success());
    assert!(request.await.expect("no panic").is_err(), "it had no time to be answered");

    assert_eq!(fleet.b.get(&path).await.status(), StatusCode::OK);
}
