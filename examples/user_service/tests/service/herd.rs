//! Many callers of one row at once.

use reqwest::StatusCode;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::fleet::Fleet;

#[tokio::test]
async fn two_hundred_requests_to_two_instances_are_one_query() {
    let fleet = Fleet::start(&[("QUERY_DELAY_MS", "300")]);
    let id = fleet.a.user("ada").await;

    let mut requests = JoinSet::new();
    for n in 0..200 {
        let instance = if n % 2 == 0 { &fleet.a } else { &fleet.b };
        requests.spawn(reqwest::get(instance.url(&format!("/users/{id}"))));
    }
    for response in requests.join_all().await {
        let response = response.expect("the service answers");
        assert_eq!(response.status(), StatusCode::OK);
        let user: Value = response.json().await.expect("it is JSON");
        assert_eq!(user["name"], "ada");
    }

    assert!((fleet.fills("find").await - 1.0).abs() < f64::EPSILON, "{} queries", fleet.fills("find").await);
}

/// That there is no such user is as good an answer, and as expensive a query.
#[tokio::test]
async fn a_user_that_is_not_there_is_asked_for_once() {
    let fleet = Fleet::start(&[]);
    for instance in [&fleet.a, &fleet.b, &fleet.a, &fleet.b] {
        assert_eq!(instance.get("/users/77").await.status(), StatusCode::NOT_FOUND);
    }
    assert!((fleet.fills("find").await - 1.0).abs() < f64::EPSILON);
}
